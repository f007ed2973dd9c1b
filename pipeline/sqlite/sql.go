package sqlite

// Statements that read records of one list. Their first argument comes before the tenant,
// kind and stream, the others come after. The + prevents that l.id passes its affinity to
// the expression, which would then not match the index.
const (
	readRange = `SELECT r.at, r.id, r.time, r.sum, r.data FROM lists l JOIN records r
	ON r.at > (l.id << 32) + ? AND r.at < (l.id + 1) << 32 WHERE l.tenant = ? AND l.kind = ? AND l.stream = ? `
	readUp   = readRange + "ORDER BY r.at LIMIT ? + 0"
	readDown = readRange + "ORDER BY r.at DESC LIMIT ? + 0"
	readID   = `SELECT r.at, r.id, r.time, r.sum, r.data FROM lists l JOIN records r
	ON r.at >> 32 = +l.id AND r.id = ? WHERE l.tenant = ? AND l.kind = ? AND l.stream = ?`
	readSeq = `SELECT r.at, r.id, r.time, r.sum, r.data FROM lists l JOIN records r
	ON r.at = (l.id << 32) + ? AND r.id IS NULL WHERE l.tenant = ? AND l.kind = ? AND l.stream = ?`
)

const listKeys = `SELECT kind, stream FROM lists l WHERE tenant = ?1 AND (?2 = '' OR kind = ?2)
	AND EXISTS (SELECT 1 FROM records WHERE at > l.id << 32 AND at < (l.id + 1) << 32) ORDER BY kind, stream`

// listTenants goes from one tenant to the next in the index, past their many lists. Those that have only
// collections are added.
const listTenants = `WITH RECURSIVE names(name) AS (SELECT min(tenant) FROM lists UNION ALL
	SELECT (SELECT min(tenant) FROM lists WHERE tenant > name) FROM names WHERE name IS NOT NULL)
	SELECT name FROM names WHERE name IS NOT NULL UNION SELECT tenant FROM collections ORDER BY 1`

const listLasts = "SELECT kind, stream, last FROM lists WHERE tenant = ?"

const sizeOf = `SELECT l.kind, count(*), coalesce(sum(length(r.data)), 0) FROM lists l JOIN records r
	ON r.at > l.id << 32 AND r.at < (l.id + 1) << 32 WHERE l.tenant = ? GROUP BY l.kind`

// Statements of the writer.
const (
	findList    = "SELECT id, last FROM lists WHERE tenant = ? AND kind = ? AND stream = ?"
	insertList  = "INSERT INTO lists (tenant, kind, stream, last) VALUES (?, ?, ?, 0) RETURNING id"
	updateList  = "UPDATE lists SET last = ? WHERE id = ?"
	newestAt    = "SELECT at FROM records WHERE at BETWEEN ? AND ? ORDER BY at DESC LIMIT 1"
	findSeq     = "SELECT at FROM records WHERE at = ? AND id IS NULL"
	findID      = "SELECT at FROM records WHERE at >> 32 = ? AND id = ?"
	hasData     = "SELECT at FROM records WHERE at = ? AND data = ?"
	insertOne   = "INSERT INTO records (at, id, time, sum, data) VALUES (?, ?, ?, ?, ?)"
	updateOne   = "UPDATE records SET time = ?, sum = ?, data = ? WHERE at = ?"
	deleteOne   = "DELETE FROM records WHERE at = ?"
	deleteRange = "DELETE FROM records WHERE at BETWEEN ? AND ?"
)

// Statements of a check of the whole file.
const (
	readAll = "SELECT at, id, time, sum, data FROM records"
	strays  = `SELECT count(*) FROM records r LEFT JOIN lists l ON l.id = r.at >> 32
	WHERE l.id IS NULL OR r.at & 0xffffffff NOT BETWEEN 1 AND l.last`
)
