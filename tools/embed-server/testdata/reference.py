"""Computes the vectors that the test compares with, with numpy alone, in 64 bits.

    pip install numpy safetensors tokenizers
    python reference.py FOLDER > reference.json
"""

import json
import math
import sys

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

TEXTS = ['hello', 'Where does the night train leave?', 'func main() { fmt.Println("hi") }', 'naïve café — 中文 😀', '', 'word ' * 400,
         'A language model reads its context from a window of tokens. What is in the window decides the answer.']
erf = np.vectorize(math.erf)


def main(folder):
    config = json.load(open(f'{folder}/config.json'))
    longest = json.load(open(f'{folder}/sentence_bert_config.json'))['max_seq_length']
    w = {k.removeprefix('bert.'): v.astype(np.float64) for k, v in load_file(f'{folder}/model.safetensors').items()}
    tokenizer = Tokenizer.from_file(f'{folder}/tokenizer.json')
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)

    def linear(x, name):
        return x @ w[name + '.weight'].T + w[name + '.bias']

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config['layer_norm_eps'])
        return x * w[name + '.weight'] + w[name + '.bias']

    def layer(x, name):
        heads = config['num_attention_heads']
        q, k, v = (linear(x, f'{name}.attention.self.{p}').reshape(len(x), heads, -1).transpose(1, 0, 2) for p in ('query', 'key', 'value'))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(x.shape)
        x = norm(x + linear(mixed, name + '.attention.output.dense'), name + '.attention.output.LayerNorm')
        h = linear(x, name + '.intermediate.dense')
        return norm(x + linear(h * (1 + erf(h / math.sqrt(2))) / 2, name + '.output.dense'), name + '.output.LayerNorm')

    vectors = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        x = w['embeddings.word_embeddings.weight'][ids] + w['embeddings.position_embeddings.weight'][:len(ids)]
        x = norm(x + w['embeddings.token_type_embeddings.weight'][0], 'embeddings.LayerNorm')
        for i in range(config['num_hidden_layers']):
            x = layer(x, f'encoder.layer.{i}')
        v = x.mean(0)
        vectors.append(np.round(v / np.linalg.norm(v), 6).tolist())
    json.dump({'texts': TEXTS, 'vectors': vectors}, sys.stdout, ensure_ascii=False)


main(*sys.argv[1:])
