//! A sentence transformer of the BERT family: the mean of the vectors of all tokens, of length 1.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::{Encoding, Tokenizer, TruncationParams};

/// How many tokens, with padding, are computed at the same time. It bounds the memory.
const BATCH_TOKENS: usize = 4096;

pub struct Model {
    bert: BertModel,
    tokenizer: Tokenizer,
    pub dimension: usize,
}

/// The settings of sentence-transformers.
#[derive(Deserialize)]
struct Sentence {
    max_seq_length: usize,
}

impl Model {
    /// Reads a folder with config.json, tokenizer.json and model.safetensors. The file
    /// sentence_bert_config.json, if there is one, says after how many tokens texts are cut.
    pub fn load(folder: &Path) -> Result<Self> {
        let config: Config = read(&folder.join("config.json"))?;
        let mut longest = config.max_position_embeddings;
        let sentence = folder.join("sentence_bert_config.json");
        if sentence.exists() {
            longest = longest.min(read::<Sentence>(&sentence)?.max_seq_length);
        }
        let path = folder.join("tokenizer.json");
        let mut tokenizer = Tokenizer::from_file(&path).map_err(|e| anyhow::anyhow!("{}: {e}", path.display()))?;
        tokenizer.with_padding(None);
        let cut = TruncationParams { max_length: longest, ..Default::default() };
        tokenizer.with_truncation(Some(cut)).map_err(|e| anyhow::anyhow!("truncation: {e}"))?;
        let weights = folder.join("model.safetensors");
        let data = std::fs::read(&weights).with_context(|| weights.display().to_string())?;
        let vars = VarBuilder::from_buffered_safetensors(data, DType::F32, &Device::Cpu)?;
        let bert = BertModel::load(vars, &config).with_context(|| weights.display().to_string())?;
        Ok(Self { bert, tokenizer, dimension: config.hidden_size })
    }

    /// Returns one vector for each text, and the number of all tokens.
    pub fn embed(&self, texts: &[String]) -> Result<(Vec<Vec<f32>>, usize)> {
        let inputs: Vec<&str> = texts.iter().map(String::as_str).collect();
        let encoded = self.tokenizer.encode_batch(inputs, true).map_err(|e| anyhow::anyhow!("tokenize: {e}"))?;
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&i| encoded[i].len()); // so that little is padded
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let n = batch(&encoded, rest);
            for (&i, v) in rest.iter().zip(self.forward(&encoded, &rest[..n])?) {
                vectors[i] = v;
            }
            rest = &rest[n..];
        }
        Ok((vectors, encoded.iter().map(Encoding::len).sum()))
    }

    fn forward(&self, encoded: &[Encoding], batch: &[usize]) -> Result<Vec<Vec<f32>>> {
        let width = batch.iter().map(|&i| encoded[i].len()).max().unwrap_or(0);
        ensure!(width > 0, "a text without tokens");
        let mut ids = Vec::with_capacity(batch.len() * width);
        let mut mask = Vec::with_capacity(batch.len() * width);
        for &i in batch {
            let own = encoded[i].get_ids();
            ids.extend_from_slice(own);
            ids.resize(ids.len() + width - own.len(), 0);
            mask.resize(mask.len() + own.len(), 1u32);
            mask.resize(ids.len(), 0);
        }
        let shape = (batch.len(), width);
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let hidden = self.bert.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        let mask = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
        let mean = hidden.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?)?;
        let length = mean.sqr()?.sum_keepdim(1)?.sqrt()?;
        Ok(mean.broadcast_div(&length)?.to_vec2()?)
    }
}

/// Returns how many of the next texts, which become longer, are computed together.
fn batch(encoded: &[Encoding], order: &[usize]) -> usize {
    let fits = |n: &usize| n * encoded[order[n - 1]].len() <= BATCH_TOKENS;
    (1..=order.len()).take_while(fits).last().unwrap_or(1)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let data = std::fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&data).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Reference {
        texts: Vec<String>,
        vectors: Vec<Vec<f32>>,
    }

    /// Compares with vectors that reference.py computes with numpy alone. ANCHOR_MINILM names the folder of
    /// the model.
    #[test]
    fn reference_vectors() -> Result<()> {
        let Some(folder) = std::env::var_os("ANCHOR_MINILM") else {
            eprintln!("ANCHOR_MINILM names no folder: not compared");
            return Ok(());
        };
        let want: Reference = serde_json::from_str(include_str!("../testdata/reference.json"))?;
        let model = Model::load(Path::new(&folder))?;
        let (have, tokens) = model.embed(&want.texts)?;
        assert!(have.len() == want.vectors.len() && tokens > have.len());
        for (text, (have, want)) in want.texts.iter().zip(have.iter().zip(&want.vectors)) {
            let worst = have.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(have.len() == model.dimension && worst < 1e-4, "{text:.40?} differs by {worst}");
        }
        // These are the similarities that the documentation of sentence-transformers gives for the model.
        let published = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."];
        let (v, _) = model.embed(&published.map(String::from))?;
        for (a, b, similarity) in [(0, 1, 0.6660), (0, 2, 0.1046), (1, 2, 0.1411)] {
            let have: f32 = v[a].iter().zip(&v[b]).map(|(x, y)| x * y).sum();
            assert!((have - similarity).abs() < 1e-4, "{have}, published is {similarity}");
        }
        Ok(())
    }
}
