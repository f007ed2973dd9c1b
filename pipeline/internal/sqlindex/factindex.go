package sqlindex

import (
	"cmp"
	"context"
	"crypto/md5" // identifies contents, as package memory does
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
	"github.com/anchor-host/anchor-host/store"
)

// Facts are indexed in two places, both written in the transaction of the records. A collection,
// which no caller can name, finds them by words and by vectors. The table facts has their order by
// use and by importance, the hashes of their contents, and their vectors. The records are the
// truth: a search reads the record of each fact that it finds, and a missing or damaged index is
// made again from them.

// factCollection is the name of the collection. Names of callers have no control characters.
const factCollection = "\x01facts"

const (
	// indexBatch is how many facts are in a segment when an index is made again.
	indexBatch = 2000
	// maxIndexed is the size of a text that every index takes.
	maxIndexed = 512
	// never is the time of expiry of a fact that does not expire.
	never = math.MaxInt64
)

const (
	insertFact = `INSERT INTO facts (list, id, "user", session, type, tags, used, relevance, expires, hash, content, vector)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (list, id) DO UPDATE SET "user" = excluded."user", session = excluded.session,
	type = excluded.type, tags = excluded.tags, used = excluded.used, relevance = excluded.relevance, expires = excluded.expires,
	hash = excluded.hash, content = excluded.content, vector = excluded.vector`
	deleteFact = "DELETE FROM facts WHERE list = ? AND id = ?"
	clearFacts = "DELETE FROM facts WHERE list = ?"
	oldVector  = "SELECT vector FROM facts WHERE list = ? AND id = ? AND content = ? AND vector IS NOT NULL"
)

// factEntry is what the index needs of an entry of package memory. Its decoding is lenient,
// because the reader of the record judges the entry.
type factEntry struct {
	Content   string     `json:"content"`
	User      string     `json:"user_id"`
	Session   string     `json:"session_id"`
	Type      string     `json:"memory_type"`
	Tags      []string   `json:"tags"`
	Relevance *float64   `json:"relevance_score"`
	Used      time.Time  `json:"last_accessed"`
	Created   time.Time  `json:"created_at"`
	Expires   *time.Time `json:"expires_at"`
	Hash      string     `json:"content_hash"`
}

// Fact is a fact on its way into the index, made by [NewFact].
type Fact struct {
	id      string
	entry   factEntry
	content [sha256.Size]byte
	vector  []float32
}

// NewFact reads a record. It returns false if the record is no entry: then a search finds
// nothing of it.
func NewFact(id string, data []byte) (*Fact, bool) {
	f := &Fact{id: id}
	if id == "" || json.Unmarshal(data, &f.entry) != nil {
		return nil, false
	}
	f.entry.Type = cmp.Or(f.entry.Type, "semantic")
	if f.entry.Hash == "" {
		sum := md5.Sum([]byte(f.entry.Content))
		f.entry.Hash = hex.EncodeToString(sum[:])
	}
	f.content = sha256.Sum256([]byte(f.entry.Content))
	return f, true
}

// nanos returns a time for comparisons. A time that cannot be counted is the nearest that can.
func nanos(t time.Time) int64 {
	switch {
	case t.Year() < 1678:
		return math.MinInt64
	case t.Year() > 2261:
		return never
	}
	return t.UnixNano()
}

func (f *Fact) used() int64 {
	if f.entry.Used.IsZero() {
		return nanos(f.entry.Created)
	}
	return nanos(f.entry.Used)
}

func (f *Fact) expires() int64 {
	if f.entry.Expires == nil || f.entry.Expires.IsZero() {
		return never
	}
	return nanos(*f.entry.Expires)
}

// whole returns a text so that a filter takes it for no list: the facts of the user "a, b" are not
// those of the user "a".
func whole(value string) string {
	return strings.ReplaceAll(value, retrieve.ListSeparator, ",\x00")
}

// The names of the fields by which a search filters facts.
const (
	metaUser    = "user"
	metaSession = "session"
	metaType    = "type"
	metaExpires = "expires"
	metaTag     = "tag:"
)

// document returns the fact as the collection has it.
func (f *Fact) document() retrieve.Document {
	meta := map[string]string{metaType: whole(f.entry.Type), metaExpires: fmt.Sprint(f.expires())}
	if f.entry.User != "" {
		meta[metaUser] = whole(f.entry.User)
	}
	if f.entry.Session != "" {
		meta[metaSession] = whole(f.entry.Session)
	}
	for _, tag := range f.entry.Tags {
		meta[metaTag+tag] = "1"
	}
	return retrieve.Document{ID: f.id, Meta: meta, Chunks: []retrieve.Chunk{{Text: f.entry.Content, Vector: f.vector}}}
}

// row returns the values of insertFact.
func (f *Fact) row(list int64) ([]driver.Value, error) {
	tags, err := json.Marshal(f.entry.Tags)
	relevance := 0.5
	if f.entry.Relevance != nil {
		relevance = *f.entry.Relevance
	}
	var vector driver.Value
	if f.vector != nil {
		vector = encodeVector(f.vector)
	}
	return []driver.Value{
		list, f.id, short(f.entry.User), short(f.entry.Session), short(f.entry.Type), clean(string(tags)), f.used(), relevance, f.expires(), short(f.entry.Hash), f.content[:], vector,
	}, err
}

// clean returns a text that every database takes: without bytes of zero, and in UTF-8.
func clean(s string) string {
	return strings.ToValidUTF8(strings.NewReplacer("\x00", "\ufffd", `\u0000`, `\ufffd`).Replace(s), "\ufffd")
}

// short is clean for a text that an index has. Of a long one it keeps the beginning and a digest.
func short(s string) string {
	if s = clean(s); len(s) > maxIndexed {
		return fmt.Sprintf("%s#%x", strings.ToValidUTF8(s[:maxIndexed], ""), sha256.Sum256([]byte(s)))
	}
	return s
}

func encodeVector(v []float32) []byte {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// decodeVector reads a vector. It returns nil if there is none of this dimension.
func decodeVector(value driver.Value, dimension int) []float32 {
	data, _ := value.([]byte)
	if len(data) == 0 || len(data) != 4*dimension {
		return nil
	}
	v := make([]float32, dimension)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}

// IsFacts reports whether the records of a key are indexed.
func IsFacts(key store.Key) bool { return key.Kind == store.KindFact && key.Stream == "" }

// Changed brings the index in step with a change of facts that was made in a transaction to the list of a
// tenant: gone are not to be found any more, and put were written. cleared means that all were removed.
func (s *Facts) Changed(c Conn, tenant string, list int64, cleared bool, gone []string, put []*Fact) error {
	col, t := retrieve.Collection{Tenant: tenant, Name: factCollection}, s.x.tx(c)
	if cleared {
		return t.dropFacts(list, col)
	}
	found, err := t.conn.collection(col)
	if errors.Is(err, errNoCollection) {
		return t.buildFacts(list, col)
	}
	if errors.Is(err, segment.ErrCorrupt) {
		return t.rebuildFacts(list, col)
	}
	if err != nil {
		return err
	}
	if len(gone)+len(put) == 0 {
		return nil
	}
	for _, id := range gone {
		if _, err := t.deleteDocument(found.id, id); err != nil {
			return err
		}
		if err := t.conn.Exec(deleteFact, list, id); err != nil {
			return err
		}
	}
	if len(put) > 0 {
		return t.writeFacts(list, found, put)
	}
	return t.touch(found)
}

// writeFacts writes facts into the index. A fact whose content is the same keeps its vector.
func (t *tx) writeFacts(list int64, c collection, facts []*Fact) error {
	docs := make([]retrieve.Document, 0, len(facts))
	seen := make(map[string]int, len(facts))
	for _, f := range facts {
		if f.vector == nil && c.settings.Model.Dimension > 0 {
			err := t.conn.Query(oldVector, []driver.Value{list, f.id, f.content[:]}, func(row []driver.Value) error {
				f.vector = decodeVector(row[0], c.settings.Model.Dimension)
				return nil
			})
			if err != nil {
				return err
			}
		}
		row, err := f.row(list)
		if err == nil {
			err = t.conn.Exec(insertFact, row...)
		}
		if err != nil {
			return err
		}
		if at, twice := seen[f.id]; twice {
			docs[at] = f.document()
			continue
		}
		seen[f.id] = len(docs)
		docs = append(docs, f.document())
	}
	b, err := t.x.batch(context.Background(), docs, c.settings) // facts are short
	if err != nil {
		return err
	}
	for i := range b.docs {
		b.docs[i].blocks, b.docs[i].bytes = nil, 0 // the records have the texts
	}
	return t.writeBatch(c, b)
}

// dropFacts removes the index of a tenant's facts.
func (t *tx) dropFacts(list int64, col retrieve.Collection) error {
	if err := t.conn.Exec(clearFacts, list); err != nil {
		return err
	}
	id, ok, err := t.conn.number("SELECT id FROM collections WHERE tenant = ? AND name = ?", col.Tenant, col.Name)
	if err != nil || !ok {
		return err
	}
	return t.remove(id)
}

// rebuildFacts makes the index of a tenant's facts again. Vectors are made again, too.
func (t *tx) rebuildFacts(list int64, col retrieve.Collection) error {
	if err := t.dropFacts(list, col); err != nil {
		return err
	}
	return t.buildFacts(list, col)
}

// buildFacts makes the index of all facts of a list, for which there is none. Records that are
// damaged are left out.
func (t *tx) buildFacts(list int64, col retrieve.Collection) error {
	settings, err := retrieve.Settings{Vectors: retrieve.VectorsInt8}.Complete()
	if err != nil {
		return err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	if err := t.conn.Exec(insertCollection, col.Tenant, col.Name, string(text), time.Now().UnixNano()); err != nil {
		return err
	}
	c, err := t.conn.collection(col)
	if err != nil {
		return err
	}
	for after := int64(0); ; {
		var facts []*Fact
		n, last, err := t.x.o.Facts(t.conn.Conn, list, after, indexBatch, func(r store.Record, err error) {
			if err == nil {
				if f, ok := NewFact(r.ID, r.Data); ok {
					facts = append(facts, f)
				}
			}
		})
		after = last
		if err == nil && len(facts) > 0 {
			err = t.writeFacts(list, c, facts)
		}
		if err != nil || n < indexBatch {
			return err
		}
	}
}

// factWork runs f in a transaction, with the head of the tenant's facts and their collection. It
// makes the index if there is none. Without facts it does nothing.
func (s *Facts) factWork(ctx context.Context, tenant string, f func(*tx, int64, collection) error) error {
	col := retrieve.Collection{Tenant: tenant, Name: factCollection}
	return s.x.writing(ctx, tenant, 0, func(t *tx) error {
		list, err := t.conn.factList(tenant)
		if err != nil || list == 0 {
			return err
		}
		c, err := t.conn.collection(col)
		if errors.Is(err, errNoCollection) || errors.Is(err, segment.ErrCorrupt) {
			if err = t.rebuildFacts(list, col); err == nil {
				c, err = t.conn.collection(col)
			}
		}
		if err != nil {
			return err
		}
		return f(t, list, c)
	})
}
