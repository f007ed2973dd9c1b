"""Writes the counts of the library "tokenizers" for TestRealFiles.

    pip install tokenizers==0.23.3
    python reference.py OUT NAME=path/to/tokenizer.json … -- text files …

OUT/texts.json has whole texts, random parts of them and short hostile texts.
OUT/NAME/counts.json has the counts, next to a copy of the tokenizer.json.
"""

import json
import os
import random
import shutil
import sys

from tokenizers import Tokenizer

EDGES = ['', ' ', '  ', '\n', '\n\n a', 'a\n', '\r\n\r\n  x', '\u00e9', 'e\u0301', "it's IT'S '\u017f don\u2019t",
         '<|endoftext|><|im_end|>', '<tool_call> x </tool_call>', '<s></s><unk>', '\u2581\u2581a\u2581', '\u3000 x',
         '\t\t x', 'a' * 3000, ' ' * 3000, 'ab' * 2000, '\u4e2d' * 2000, '\u0301' * 20, '1234567890 12 1', 'x\x00y',
         '\U0001f9d1\u200d\U0001f680\U0001f469\u200d\U0001f469\u200d\U0001f467', '\u0130 \u01c5', '\ufeffx', '\ufb01 \u210c \u2460']


def texts(files):
    random.seed(3)
    out = []
    for f in sorted(files):
        s = open(f, newline='', encoding='utf-8').read()
        out.append(s)
        for _ in range(60):
            a = random.randrange(len(s))
            out.append(s[a:a + random.choice([3, 10, 40, 200, 1500])])
    return out + EDGES


def main(out, *arguments):
    split = arguments.index('--')
    all_texts = texts(arguments[split + 1:])
    os.makedirs(out, exist_ok=True)
    json.dump(all_texts, open(f'{out}/texts.json', 'w'))
    for argument in arguments[:split]:
        name, path = argument.split('=')
        t = Tokenizer.from_file(path)
        t.encode_special_tokens = True
        t.no_truncation()
        t.no_padding()
        os.makedirs(f'{out}/{name}', exist_ok=True)
        shutil.copy(path, f'{out}/{name}/tokenizer.json')
        json.dump([len(t.encode(x, add_special_tokens=False).ids) for x in all_texts], open(f'{out}/{name}/counts.json', 'w'))


main(*sys.argv[1:])
