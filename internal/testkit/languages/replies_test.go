package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/pipeline"
)

const replyManifest = `abi: 1
name: replies
version: 0.1.0
operations:
  process:
    reads: [text, metadata, created_at]
    writes: [metadata, score, items]
`

// replySources do what the text of the first row says.
var replySources = map[string]struct{ file, text string }{
	"c":   {"plugin.c", replyC},
	"zig": {"plugin.zig", replyZig},
}

const replyC = `#include "anchor.h"

static int process(anchor_request *r, anchor_reply *c) {
    anchor_text what = anchor_at(&r->text, 0);
    if (anchor_equal(what, anchor_str("twice"))) {
        anchor_field f[] = {
            anchor_field_int("n", 1), anchor_field_int("n", 2), anchor_field_text("a", what), anchor_field_text("b", what),
        };
        anchor_set_metadata(c, 0, f, 4);
    } else if (anchor_equal(what, anchor_str("undecided"))) {
        anchor_set_score(c, 0, 2);
        return ANCHOR_NO_CHANGE;
    } else if (anchor_equal(what, anchor_str("refuses"))) {
        anchor_set_score(c, 0, 2);
        return anchor_fail("my own words");
    } else {
        anchor_item it = {anchor_str("k"), what, anchor_str(""), 0.5, 0, r->created_at[0], 0, 0};
        anchor_add_item(c, it);
    }
    return ANCHOR_DONE;
}
ANCHOR_PROCESS(process)
`

const replyZig = `const std = @import("std");
const anchor = @import("anchor/anchor.zig");

comptime {
    anchor.plugin(.{ .process = process });
}

fn process(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    const what = r.text(0);
    if (std.mem.eql(u8, what, "twice")) {
        c.setMetadata(0, &.{
            .{ .key = "n", .value = .{ .int = 1 } }, .{ .key = "n", .value = .{ .int = 2 } }, .{ .key = "a", .value = .null },
        });
    } else if (std.mem.eql(u8, what, "undecided")) {
        c.setScore(0, 2);
        return error.NoChange;
    } else if (std.mem.eql(u8, what, "refuses")) {
        c.setScore(0, 2);
        return anchor.fail("my own words");
    } else {
        _ = c.add(.{ .key = "k", .content = what, .score = 0.5, .created_at = r.created_at[0] });
    }
}
`

// The helpers answer the same in both lanes where an author has made a mistake,
// and where a time is missing.
func TestMistakesInReplies(t *testing.T) {
	named := os.Getenv(languagesVar)
	for language := range replySources {
		t.Run(language, func(t *testing.T) {
			if named != "all" && !slices.Contains(strings.Split(named, ","), language) {
				t.Skipf("set %s=%s to use its toolchain", languagesVar, language)
			}
			spec := buildReplies(t, language)
			for _, lane := range []host.Lane{host.LaneJSON, host.LaneBatch} {
				h, err := loadHelper(t, spec, host.PluginConfig{Lane: lane})
				if err != nil {
					t.Fatal(err)
				}
				for what, want := range map[string]string{
					"twice": "a metadata key twice in a row", "undecided": "nothing", "refuses": "my own words", "timeless": "no time",
				} {
					if got := h.reply(t, what); !strings.Contains(got, want) {
						t.Errorf("lane %s: %s: got %q, want %q", lane, what, got, want)
					}
				}
			}
		})
	}
}

// reply says what comes of a text.
func (h *helper) reply(t *testing.T, what string) string {
	t.Helper()
	items, err := h.run(t, nil, pipeline.Item{ID: "a", Content: what, Source: pipeline.SourceRetrieval, Priority: 5})
	switch {
	case err != nil:
		return err.Error()
	case len(items) == 1:
		return "nothing"
	case items[1].CreatedAt.IsZero():
		return "no time"
	}
	return items[1].CreatedAt.String()
}

// buildReplies builds a project of one file.
func buildReplies(t *testing.T, language string) *spec.Spec {
	t.Helper()
	bin, err := filepath.Abs("../../../build/_toolchains/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	dir, source := t.TempDir(), replySources[language]
	for name, text := range map[string]string{"plugin.yaml": replyManifest, source.file: source.text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	built, err := authoring.Build(t.Context(), authoring.BuildOptions{Dir: dir, Messages: os.Stderr})
	if errors.Is(err, authoring.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return built.Spec
}
