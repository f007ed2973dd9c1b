"""Makes wordpiece.json, a small tokenizer, and ids.json, the tokens that the library "tokenizers" finds.

    pip install tokenizers==0.23.3
    python ids.py [NAME=path/to/tokenizer.json …]

Unknown tokens are left out. For each NAME, the folder that ANCHOR_TOKENIZERS names gets ids.json beside counts.json;
run reference.py first.
"""

import json
import os
import random
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

random.seed(12)
EXTRA = ['Ünïcödé naïve', 'don\'t stop', '中文字符 mixed', 'a\u0301b', '[UNK] [CLS]', '\u200bzero\u00adwidth', 'ＦＵＬＬ width', 'ǅ', '\ufffd', 'x' * 101, 'tab\tand\x7fdel',
         'ȺȾ', '\U00020000\U0002b820', '¿Qué? “Quotes” — dash', '\u2028line', 'İstanbul', 'ΑΣ Σ', '\ue000private']
SYLLABLES = ['ba', 're', 'ti', 'on', 'ing', 'con', 'ver', 'der', 's', 'ly', 'un', 'pro', 'a', 'the', 'ος', 'и', 'ние', 'e', '中', '文', 'の', '한국', 'q', 'u']


def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words = [''.join(random.choices(SYLLABLES, k=random.randint(1, 4))) for _ in range(400)]
    texts = [' '.join(random.choices(words, k=10)) + random.choice(['.', ' 12, ', "'s"]) for _ in range(2000)]
    t.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=500, special_tokens=['[PAD]', '[UNK]', '[CLS]', '[SEP]']))
    return json.loads(t.to_str())


def bert(**options):
    return {'normalizer': {'type': 'BertNormalizer', 'clean_text': True, 'handle_chinese_chars': True, 'strip_accents': None, 'lowercase': True, **options}}


VARIANTS = [
    ('wordpiece', 'uncased', {}), ('wordpiece', 'cased', bert(lowercase=False)), ('wordpiece', 'accents', bert(strip_accents=False, handle_chinese_chars=False)),
    ('wordpiece', 'unclean', bert(clean_text=False)), ('wordpiece', 'short', {'model.max_input_chars_per_word': 5}),
    ('fallback', 'llama2', {}), ('fallback', 'no-bytes', {'model.byte_fallback': False}), ('fallback', 'dropped', {'model.byte_fallback': False, 'model.unk_token': None}),
    ('byte-level', 'own', {}),
]


def listed(t, texts):
    t.encode_special_tokens = True
    t.no_truncation()
    t.no_padding()
    unknown = json.loads(t.to_str())['model'].get('unk_token')
    unknown = t.token_to_id(unknown) if unknown else None
    return [[i for i in t.encode(x, add_special_tokens=False).ids if i != unknown] for x in texts]


def changed(model, members):
    d = json.loads(json.dumps(model))
    for name, value in members.items():
        if name.startswith('model.'):
            d['model'][name[6:]] = value
        else:
            d[name] = value
    return d


def main(arguments):
    json.dump(wordpiece(), open('wordpiece.json', 'w'), ensure_ascii=False, separators=(',', ':'))
    texts = json.load(open('variants.json'))['texts'][:70] + EXTRA
    out = []
    for base, name, members in VARIANTS:
        t = Tokenizer.from_str(json.dumps(changed(json.load(open(base + '.json')), members)))
        out.append({'base': base, 'name': name, 'members': members, 'ids': listed(t, texts)})
    json.dump({'texts': texts, 'variants': out}, open('ids.json', 'w'), ensure_ascii=False, separators=(',', ':'))
    folder = os.environ.get('ANCHOR_TOKENIZERS')
    for argument in arguments:
        name, path = argument.split('=')
        real = json.load(open(f'{folder}/texts.json'))
        json.dump(listed(Tokenizer.from_file(path), real), open(f'{folder}/{name}/ids.json', 'w'))


main(sys.argv[1:])
