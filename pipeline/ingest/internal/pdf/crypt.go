package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
)

// method is how a crypt filter encrypts.
type method uint8

const (
	plain  method = iota
	rc4Key        // of each object
	aesKey        // of each object
	aesAll        // one key of 256 bits
)

// security decrypts a file that opens without a password.
type security struct {
	key              []byte
	streams, strings method
	filters          map[string]method
}

// padding stands for the rest of a password, and for all of an empty one.
var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// security returns what decrypts the file, or nil if that needs a password or a handler that is not the standard one.
func (r *reader) security() *security {
	d := r.dict(r.trailer["Encrypt"])
	v, _ := r.resolve(d["V"]).(float64)
	s := &security{streams: rc4Key, strings: rc4Key}
	bits := 40.0
	if n, ok := r.resolve(d["Length"]).(float64); ok && v > 1 {
		bits = n
	}
	if v >= 4 {
		bits = 128
		s.filters = r.cryptFilters(d)
		s.streams, s.strings = s.method(r.resolve(d["StmF"])), s.method(r.resolve(d["StrF"]))
	}
	if filter := r.resolve(d["Filter"]); filter != nil && filter != name("Standard") || v < 1 || v > 5 || v == 3 || bits < 40 || bits > 128 {
		return nil
	}
	if v == 5 {
		s.key = r.key256(d)
	} else {
		s.key = r.key128(d, int(bits)/8)
	}
	if s.key == nil {
		return nil
	}
	return s
}

func (r *reader) cryptFilters(d dict) map[string]method {
	filters := map[string]method{}
	for n, v := range r.dict(d["CF"]) {
		switch r.resolve(r.dict(v)["CFM"]) {
		case name("V2"):
			filters[n] = rc4Key
		case name("AESV2"):
			filters[n] = aesKey
		case name("AESV3"):
			filters[n] = aesAll
		}
	}
	return filters
}

func (s *security) method(v any) method {
	n, _ := v.(name)
	return s.filters[string(n)] // "Identity" is in no list
}

func (r *reader) bytes(v any) []byte {
	t, _ := r.resolve(v).(text)
	return t
}

// key128 makes the key of revisions 2 to 4, and proves it.
func (r *reader) key128(d dict, size int) []byte {
	revision, _ := r.resolve(d["R"]).(float64)
	permissions, _ := r.resolve(d["P"]).(float64)
	owner, user := r.bytes(d["O"]), r.bytes(d["U"])
	var id []byte
	if ids := r.array(r.trailer["ID"]); len(ids) > 0 {
		id = r.bytes(ids[0])
	}
	if len(owner) < 32 || len(user) < 16 || !r.m.Work(len(id)+4<<10) {
		return nil
	}
	if revision < 3 {
		size = 5
	}
	in := bytes.Join([][]byte{padding, owner[:32], binary.LittleEndian.AppendUint32(nil, uint32(int64(permissions))), id}, nil)
	if r.resolve(d["EncryptMetadata"]) == false && revision >= 4 {
		in = append(in, 0xFF, 0xFF, 0xFF, 0xFF)
	}
	sum := md5.Sum(in)
	if revision >= 3 {
		for range 50 {
			sum = md5.Sum(sum[:size])
		}
	}
	key := bytes.Clone(sum[:size])
	proof := bytes.Clone(padding)
	rounds := byte(1)
	if revision >= 3 {
		hash := md5.Sum(append(proof, id...))
		proof, rounds = hash[:], 20
	}
	for i := range rounds {
		turn := bytes.Clone(key)
		for k := range turn {
			turn[k] ^= i
		}
		xorRC4(turn, proof)
	}
	if !bytes.Equal(proof, user[:len(proof)]) {
		return nil
	}
	return key
}

func xorRC4(key, data []byte) {
	if c, err := rc4.NewCipher(key); err == nil {
		c.XORKeyStream(data, data)
	}
}

// key256 makes the key of revisions 5 and 6, if the password of the user or of the owner is empty.
func (r *reader) key256(d dict) []byte {
	user, owner := r.bytes(d["U"]), r.bytes(d["O"])
	if len(user) < 48 || len(owner) < 48 || !r.m.Work(1<<20) {
		return nil
	}
	hash := func(salt, user []byte) []byte { h := sha256.Sum256(append(bytes.Clone(salt), user...)); return h[:] }
	if r.resolve(d["R"]) == 6.0 {
		hash = hardened
	}
	for _, c := range []struct {
		proof, sealed, user []byte
	}{{user, r.bytes(d["UE"]), nil}, {owner, r.bytes(d["OE"]), user[:48]}} {
		if len(c.sealed) >= 32 && bytes.Equal(hash(c.proof[32:40], c.user), c.proof[:32]) {
			return cbc(hash(c.proof[40:48], c.user), make([]byte, aes.BlockSize), c.sealed[:32])
		}
	}
	return nil
}

// hardened is the hash of revision 6, of the empty password. That of an owner also covers what proves the user's.
func hardened(salt, user []byte) []byte {
	sum := sha256.Sum256(append(bytes.Clone(salt), user...))
	k := sum[:]
	for i := 0; ; i++ {
		e := bytes.Repeat(append(bytes.Clone(k), user...), 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(e, e)
		rest := 0
		for _, c := range e[:16] {
			rest += int(c) // 256 is 1 modulo 3
		}
		switch rest % 3 {
		case 0:
			h := sha256.Sum256(e)
			k = h[:]
		case 1:
			h := sha512.Sum384(e)
			k = h[:]
		default:
			h := sha512.Sum512(e)
			k = h[:]
		}
		if i >= 63 && int(e[len(e)-1]) <= i-31 {
			return k[:32]
		}
	}
}

// cbc decrypts whole blocks. It returns nil for a key that is none.
func cbc(key, iv, data []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil || len(data)%aes.BlockSize != 0 {
		return nil
	}
	out := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, data)
	return out
}

// decrypt returns the data of an object. Its memory is held, and is new unless the method is plain.
func (r *reader) decrypt(how method, id objectID, data []byte) []byte {
	if how == plain || len(data) == 0 {
		return data
	}
	if !r.m.Take(len(data)) || !r.m.Work(2*len(data)+512) {
		return nil
	}
	key := r.crypt.key
	if how != aesAll {
		n := uint32(id.number)
		in := append(bytes.Clone(key), byte(n), byte(n>>8), byte(n>>16), byte(id.generation), byte(id.generation>>8))
		if how == aesKey {
			in = append(in, "sAlT"...)
		}
		sum := md5.Sum(in)
		key = sum[:min(len(key)+5, 16)]
	}
	if how == rc4Key {
		out := bytes.Clone(data)
		xorRC4(key, out)
		return out
	}
	if len(data) < 2*aes.BlockSize {
		return nil
	}
	whole := len(data) / aes.BlockSize * aes.BlockSize // the rest is damage
	out := cbc(key, data[:aes.BlockSize], data[aes.BlockSize:whole])
	if n := len(out); n > 0 && out[n-1] >= 1 && int(out[n-1]) <= aes.BlockSize {
		out = out[:n-int(out[n-1])]
	}
	return out
}
