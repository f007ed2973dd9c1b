package abi

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// planFields plans the fields of the request; JSON goes to scratch space.
func (w *BatchWriter) planFields(env *Envelope) (err error) {
	w.env = *env
	if env.Query != nil {
		w.query = *env.Query
	}
	if w.query.Text = jsontext.Repair(w.query.Text); w.query.Text != "" {
		w.layout.Add(layout.SectionQueryText, len(w.query.Text))
	}
	if w.query.Metadata != nil {
		if w.fields, err = jsontext.AppendObject(w.fields, w.query.Metadata, 0); err != nil {
			return jsontext.AtKey("query metadata", err)
		}
		w.layout.Add(layout.SectionQueryMetadata, len(w.fields))
	}
	w.metaLen = len(w.fields)
	if len(w.query.ChatHistory) > 0 {
		if w.fields, err = appendTurns(w.fields, w.query.ChatHistory); err != nil {
			return err
		}
		w.layout.Add(layout.SectionChatHistory, len(w.fields)-w.metaLen)
	}
	if err := checkQueryVector(w.query.Embedding); err != nil {
		return err
	}
	if len(w.query.Embedding) > 0 {
		w.layout.Add(layout.SectionQueryEmbedding, 4*len(w.query.Embedding))
	}
	if len(env.Settings) > 0 {
		w.layout.Add(layout.SectionSettings, len(env.Settings))
	}
	if env.TopK > 0 {
		w.layout.Add(layout.SectionTopK, 4)
	}
	if env.TokensLeft > 0 {
		w.layout.Add(layout.SectionTokensLeft, 4)
	}
	return nil
}

func (w *BatchWriter) putField(id layout.Section, dst []byte) {
	switch id {
	case layout.SectionQueryText:
		copy(dst, w.query.Text)
	case layout.SectionQueryMetadata:
		copy(dst, w.fields)
	case layout.SectionChatHistory:
		copy(dst, w.fields[w.metaLen:])
	case layout.SectionQueryEmbedding:
		inplace.PutF32s(dst, w.query.Embedding)
	case layout.SectionSettings:
		copy(dst, w.env.Settings)
	case layout.SectionTopK:
		binary.LittleEndian.PutUint32(dst, clampU32(w.env.TopK))
	case layout.SectionTokensLeft:
		binary.LittleEndian.PutUint32(dst, clampU32(w.env.TokensLeft))
	}
}

// checkQueryVector refuses numbers that are not finite.
func checkQueryVector(v []float32) error {
	if i := jsontext.Infinite(v); i >= 0 {
		return jsontext.AtKey("query embedding "+strconv.Itoa(i), jsontext.ErrFinite)
	}
	return nil
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
			return dst, jsontext.AtKey("chat history "+strconv.Itoa(i), err)
		}
	}
	return append(dst, ']'), nil
}

func appendTurn(dst []byte, t *Turn) ([]byte, error) {
	var err error
	dst = jsontext.AppendString(append(dst, `{"role":`...), t.Role)
	dst = jsontext.AppendString(append(dst, `,"content":`...), t.Content)
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
		if dst, err = jsontext.AppendObject(append(dst, `,"metadata":`...), t.Metadata, 0); err != nil {
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
	return jsontext.AppendTime(append(dst, `,"created_at":`...), t)
}
