"""Makes the small tokenizers of this folder and the counts of the library "tokenizers" for them.

    pip install tokenizers==0.23.3
    python make.py

The models are trained on generated text. variants.json has members that replace those of a model,
so that one model tests many normalizers, pre-tokenizers and added tokens.
"""

import base64
import json
import random
import struct

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

random.seed(11)
BYTES = ['<0x%02X>' % b for b in range(256)]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r'\p{N}{1,3}', r'\p{N}')
UPPER, LOWER = r'[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]', r'[\p{Ll}\p{Lm}\p{Lo}\p{M}]'
SHORT, TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|", r'| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+'
OSS = UPPER + '*' + LOWER + '+' + SHORT + UPPER + '+' + LOWER + '*' + SHORT + r'\p{N}{1,3}' + TAIL
TEKKEN = UPPER + '*' + LOWER + '+|' + UPPER + '+' + LOWER + r'*|\p{N}' + TAIL
DEEPSEEK = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""")
SYLLABLES = ['ba', 're', 'ti', 'on', 'ing', 'con', 'ver', 'der', 's', 'ly', 'un', 'pro', 'A', 'The', 'ος', 'и', 'ние', 'é', '中', '文', 'の', '한국']
MARKS = [' ', ' ', ' ', ' ', '\n', '  ', '. ', ', ', '\n\n', "'s ", '() ', ' 12 ', '345', '\t', ' — ', '_', '-', '/']


def generated(n):
    words = [''.join(random.choices(SYLLABLES, k=random.randint(1, 4))) for _ in range(300)]
    weights = [1 / (i + 1) for i in range(len(words))]
    return ''.join(w + random.choice(MARKS) for w in random.choices(words, weights, k=n))


def lines(n):
    return generated(n).split('\n')


def train(tokenizer, trainer):
    tokenizer.train_from_iterator(lines(20000), trainer)
    return json.loads(tokenizer.to_str())


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), 'isolated'), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return train(t, trainers.BpeTrainer(vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))


def fallback():
    t = Tokenizer(models.BPE(unk_token='<unk>', byte_fallback=True, fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend('▁'), normalizers.Replace(' ', '▁')])
    d = train(t, trainers.BpeTrainer(vocab_size=800, special_tokens=['<unk>', '<s>', '</s>'] + BYTES, limit_alphabet=60))
    d['added_tokens'] = d['added_tokens'][:3]
    return d


def unigram():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    return train(t, trainers.UnigramTrainer(vocab_size=400, special_tokens=['<unk>'], unk_token='<unk>', show_progress=False))


def split(pattern, behavior='Isolated', invert=False, kind='Regex'):
    return {'type': 'Split', 'pattern': {kind: pattern}, 'behavior': behavior, 'invert': invert}


def sequence(*parts):
    return {'type': 'Sequence', 'pretokenizers': list(parts)}


def metaspace(scheme, whole=False):
    return {'type': 'Metaspace', 'replacement': '▁', 'prepend_scheme': scheme, 'split': not whole}


def added(content, id, **flags):
    token = dict(id=id, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
    return {**token, **flags}


def charsmap():
    """A trie of Darts-clone that replaces ﬁ by fi, ① by 1 and é by e, and removes U+00AD."""
    texts, where = b'', {}
    rules = {'ﬁ': 'fi', '①': '1', 'é': 'e', '\u00ad': ''}
    for key, value in rules.items():
        where[key.encode()] = len(texts)
        texts += value.encode() + b'\0'
    units, taken = {}, {0}

    def place(prefix, at):
        labels = sorted({k[len(prefix)] for k in where if k.startswith(prefix) and len(k) > len(prefix)})
        leaf = prefix in where
        base = 1
        while any((base ^ c) in taken for c in labels + ([0] if leaf else [])) or base == at:
            base += 1
        taken.update(base ^ c for c in labels + ([0] if leaf else []))
        label = prefix[-1] if prefix else 0
        units[at] = (at ^ base) << 10 | leaf << 8 | label
        if leaf:
            units[base] = 1 << 31 | where[prefix]
        for c in labels:
            place(prefix + bytes([c]), base ^ c)

    place(b'', 0)
    trie = b''.join(struct.pack('<I', units.get(i, 0)) for i in range((max(units) | 255) + 1))
    return base64.b64encode(struct.pack('<I', len(trie)) + trie + texts).decode()


BYTE_LEVEL = {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True, 'use_regex': False}
NFC = {'type': 'NFC'}
TOKENS = [added('<think>', 9000), added('</s>', 9001, special=True), added('thing', 9002, single_word=True),
          added('<mask>', 9003, lstrip=True), added('<sep>', 9004, rstrip=True), added('Ba', 9005, normalized=True),
          added('  ', 9006), added('   ', 9007), added('<s', 9008)]
VARIANTS = [
    ('byte-level', 'llama3', {}),
    ('byte-level', 'qwen', {'normalizer': NFC, 'pre_tokenizer': sequence(split(QWEN), BYTE_LEVEL)}),
    ('byte-level', 'oss', {'pre_tokenizer': sequence(split(OSS), BYTE_LEVEL)}),
    ('byte-level', 'tekken', {'pre_tokenizer': sequence(split(TEKKEN), BYTE_LEVEL)}),
    ('byte-level', 'deepseek', {'pre_tokenizer': sequence(
        split(r'\p{N}{1,3}'), split('[一-龥\u3040-ゟ゠-ヿ]+'), split(DEEPSEEK), BYTE_LEVEL)}),
    ('byte-level', 'gpt2', {'pre_tokenizer': {**BYTE_LEVEL, 'use_regex': True, 'add_prefix_space': True}}),
    ('byte-level', 'digits', {'pre_tokenizer': sequence({'type': 'Digits', 'individual_digits': True}, {**BYTE_LEVEL, 'use_regex': True})}),
    ('byte-level', 'added', {'added_tokens': TOKENS}),
    ('byte-level', 'added-lower', {'added_tokens': TOKENS, 'normalizer': {'type': 'Lowercase'}}),
    ('fallback', 'llama2', {}),
    ('fallback', 'gemma', {'normalizer': {'type': 'Replace', 'pattern': {'String': ' '}, 'content': '▁'}}),
    ('fallback', 'gemma3', {'normalizer': {'type': 'Replace', 'pattern': {'String': ' '}, 'content': '▁'},
                            'pre_tokenizer': split(' ', 'MergedWithPrevious', kind='String')}),
    ('fallback', 'metaspace-first', {'normalizer': None, 'pre_tokenizer': metaspace('first', True), 'added_tokens': TOKENS}),
    ('fallback', 'metaspace-never', {'normalizer': None, 'pre_tokenizer': metaspace('never')}),
    ('fallback', 'no-bytes', {'model.byte_fallback': False}),
    ('fallback', 'no-fuse', {'model.byte_fallback': False, 'model.fuse_unk': False}),
    ('fallback', 'dropped', {'model.byte_fallback': False, 'model.unk_token': None}),
    ('fallback', 'ignore-merges', {'model.ignore_merges': True, 'normalizer': None, 'pre_tokenizer': metaspace('always')}),
    ('unigram', 'metaspace', {}),
    ('unigram', 'first', {'pre_tokenizer': metaspace('first')}),
    ('unigram', 'whole', {'pre_tokenizer': None, 'normalizer': {'type': 'Replace', 'pattern': {'Regex': r' {2,}'}, 'content': '▁'}}),
    ('unigram', 'strip', {'normalizer': {'type': 'Sequence', 'normalizers': [
        {'type': 'NFKD'}, {'type': 'StripAccents'}, {'type': 'Lowercase'}, {'type': 'Strip', 'strip_left': True, 'strip_right': True}]}}),
    ('unigram', 'bytes', {'model.byte_fallback': True, 'bytes': True}),
    ('unigram', 'charsmap', {'normalizer': {'type': 'Precompiled', 'precompiled_charsmap': charsmap()}}),
] + [
    ('fallback', 'split-%s-%s' % (behavior, invert), {'normalizer': None, 'pre_tokenizer': sequence(
        split(r'[\s\d]+|の', behavior, invert), {'type': 'Punctuation', 'behavior': behavior})})
    for behavior in ['Isolated', 'Removed', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'] for invert in [False, True]
] + [
    ('fallback', 'whitespace', {'normalizer': None, 'pre_tokenizer': {'type': 'Whitespace'}}),
    ('fallback', 'delimiter', {'normalizer': None, 'pre_tokenizer': sequence(
        {'type': 'WhitespaceSplit'}, {'type': 'CharDelimiterSplit', 'delimiter': '_'}, {'type': 'Digits', 'individual_digits': False})}),
]


def changed(model, members):
    d = json.loads(json.dumps(model))
    for name, value in members.items():
        if name == 'bytes':
            d['model']['vocab'] += [[b, -20.0] for b in BYTES]
        elif name.startswith('model.'):
            d['model'][name[6:]] = value
        else:
            d[name] = value
    return d


def texts():
    out = ['', ' ', '\n', '  a', 'a  ', '\n\n', 'é', 'e\u0301', "IT'S '\u017f 's", '</s><s><unk>x', ' <mask>  <sep>  x thing, thingy', 'ﬁ ① a\u00adb é',
           '中文' * 40, 'ba' * 100, ' ' * 40, 'x' * 50, '\u2581a \u2581', '<0x41>', '\U0001f600\U0001f600', 'a\x00b', '\u3000x', '\r\n\r\nx', 'İ', '한국の12345']
    alphabet = SYLLABLES + MARKS + ['<think>', '<mask>', 'thing', '   ', 'Ω', 'ß', '\u0301', '\U0001f600', 'q', 'Z', '\r\n', '<s', '&', '①', 'ﬁ']
    while len(out) < 160:
        out.append(''.join(random.choices(alphabet, k=random.randint(1, 40))))
    return out


def main():
    made = {'byte-level': byte_level(), 'fallback': fallback(), 'unigram': unigram()}
    for name, d in made.items():
        json.dump(d, open(f'{name}.json', 'w'), ensure_ascii=False, separators=(',', ':'))
    cases, out = texts(), []
    for base, name, members in VARIANTS:
        t = Tokenizer.from_str(json.dumps(changed(made[base], members)))
        t.encode_special_tokens = True
        counts = [len(t.encode(x, add_special_tokens=False).ids) for x in cases]
        out.append({'base': base, 'name': name, 'members': members, 'counts': counts})
    json.dump({'texts': cases, 'variants': out}, open('variants.json', 'w'), ensure_ascii=False, separators=(',', ':'))


main()
