"""Writes what TestReference compares with: the table and the tokenizer of wordllama, and its vectors.

    pip install wordllama==0.4.0.post1
    python reference.py OUT text files …
"""

import json
import os
import shutil
import sys

import numpy
import wordllama

HERE = os.path.dirname(wordllama.__file__)
EDGES = ['a', 'Hello, world!', '  two  spaces ', 'naïve café 中文 ☃ 😀', 'x' * 3000, 'the ' * 500, '\n\t\n', 'func main() { fmt.Println("hi") }']


def main(out, *files):
    os.makedirs(out, exist_ok=True)
    shutil.copy(f'{HERE}/weights/l2_supercat_256.safetensors', f'{out}/table.safetensors')
    shutil.copy(f'{HERE}/tokenizers/l2_supercat_tokenizer_config.json', f'{out}/tokenizer.json')
    texts = list(EDGES)
    for path in files:
        texts += [p for p in open(path, encoding='utf-8').read().split('\n\n') if p.strip()][:200]
    llama = wordllama.WordLlama.load(cache_dir=HERE, disable_download=True)
    vectors = [llama.embed([t], norm=True)[0] for t in texts]
    json.dump({'texts': texts, 'vectors': [numpy.round(v.astype(float), 6).tolist() for v in vectors]}, open(f'{out}/reference.json', 'w'))


main(*sys.argv[1:])
