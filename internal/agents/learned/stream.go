package learned

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Stream is the stream of the notes of a project and a user, and the end of the name of their collection. A user with
// a long name is in it as a digest.
func Stream(projectID, user string) string { return projectID + "/" + ownerOf(user) }

// ownerOf stands for a user in names. It never has the form of another user's.
func ownerOf(user string) string {
	if len(user) <= 64 && !strings.HasPrefix(user, "sha256:") {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Collections are named by what they have: "memory:" and a stream.
const collectionPrefix = "memory:"

func (m *Memory) collection(p project.Project) retrieve.Collection {
	return retrieve.Collection{Tenant: m.o.Tenant, Name: collectionPrefix + Stream(p.ID, m.o.User)}
}
