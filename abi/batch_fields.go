package abi

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// planFields plans the fields of the request; JSON goes to scratch space.
func (w *BatchWriter) planFields(env *Envelope) (err error) {
	w.env = *env
	if env.Query != nil {
		w.query = *env.Query
	}
	if w.query.Text = repair(w.query.Text); w.query.Text != "" {
		w.layout.add(SectionQueryText, len(w.query.Text))
	}
	if w.query.Metadata != nil {
		if w.fields, err = appendJSONObject(w.fields, w.query.Metadata, 0); err != nil {
			return keyError{"query metadata", err}
		}
		w.layout.add(SectionQueryMetadata, len(w.fields))
	}
	w.metaLen = len(w.fields)
	if len(w.query.ChatHistory) > 0 {
		if w.fields, err = appendTurns(w.fields, w.query.ChatHistory); err != nil {
			return err
		}
		w.layout.add(SectionChatHistory, len(w.fields)-w.metaLen)
	}
	if err := checkEmbedding(w.query.Embedding); err != nil {
		return err
	}
	if len(w.query.Embedding) > 0 {
		w.layout.add(SectionQueryEmbedding, 4*len(w.query.Embedding))
	}
	if len(env.Settings) > 0 {
		w.layout.add(SectionSettings, len(env.Settings))
	}
	if env.TopK > 0 {
		w.layout.add(SectionTopK, 4)
	}
	if env.TokensLeft > 0 {
		w.layout.add(SectionTokensLeft, 4)
	}
	return nil
}

func (w *BatchWriter) putField(id Section, dst []byte) {
	switch id {
	case SectionQueryText:
		copy(dst, w.query.Text)
	case SectionQueryMetadata:
		copy(dst, w.fields)
	case SectionChatHistory:
		copy(dst, w.fields[w.metaLen:])
	case SectionQueryEmbedding:
		putF32s(dst, w.query.Embedding)
	case SectionSettings:
		copy(dst, w.env.Settings)
	case SectionTopK:
		binary.LittleEndian.PutUint32(dst, clampU32(w.env.TopK))
	case SectionTokensLeft:
		binary.LittleEndian.PutUint32(dst, clampU32(w.env.TokensLeft))
	}
}

// clampU32 limits a bound to 31 bits, because guests keep it in an int of 32 bits. No
// batch is large enough for the difference to matter.
func clampU32(n int) uint32 { return uint32(min(n, math.MaxInt32)) }

// appendTurns appends a conversation as JSON.
func appendTurns(dst []byte, turns []Turn) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i := range turns {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendTurn(dst, &turns[i]); err != nil {
			return dst, keyError{"chat history " + strconv.Itoa(i), err}
		}
	}
	return append(dst, ']'), nil
}

func appendTurn(dst []byte, t *Turn) ([]byte, error) {
	var err error
	dst = appendJSONString(append(dst, `{"role":`...), t.Role)
	dst = appendJSONString(append(dst, `,"content":`...), t.Content)
	if t.TokenCount != 0 {
		dst = strconv.AppendInt(append(dst, `,"token_count":`...), int64(t.TokenCount), 10)
	}
	if dst, err = appendCreatedAt(dst, t.CreatedAt); err != nil {
		return dst, err
	}
	if t.Sequence != 0 {
		dst = strconv.AppendInt(append(dst, `,"sequence":`...), t.Sequence, 10)
	}
	if len(t.Metadata) > 0 {
		if dst, err = appendJSONObject(append(dst, `,"metadata":`...), t.Metadata, 0); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendCreatedAt appends the member created_at unless t is zero.
func appendCreatedAt(dst []byte, t time.Time) ([]byte, error) {
	if t.IsZero() {
		return dst, nil
	}
	return appendJSONTime(append(dst, `,"created_at":`...), t)
}
