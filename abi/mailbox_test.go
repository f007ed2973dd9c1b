package abi

import (
	"errors"
	"testing"
)

func TestMailbox(t *testing.T) {
	want := Mailbox{Size: MailboxSize, InAddr: 1024, InCap: 4096, OutAddr: 8192, OutLen: 16}
	b := AppendMailbox(nil, want)
	got, err := DecodeMailbox(append(b, 1, 2, 3))
	if err != nil || got != want || len(b) != MailboxSize {
		t.Fatalf("got %+v, %v", got, err)
	}
	if err := got.Check(8208); err != nil {
		t.Error(err)
	}
	want.Size, want.Document = MailboxDocumentSize, 77
	taking := AppendMailbox(nil, want)
	if got, err := DecodeMailbox(taking); err != nil || got != want || len(taking) != MailboxDocumentSize {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeMailbox(taking[:MailboxSize]); err != nil || got.Document != 0 || got.Size != want.Size {
		t.Errorf("of its first bytes: %+v, %v", got, err)
	}
	cases := []struct {
		m    Mailbox
		want string
	}{
		{Mailbox{Size: 20}, "mailbox states size 20 (want 24 or more)"},
		{Mailbox{Size: 24, InAddr: 4}, "mailbox states an input buffer at 4, which is not 8-aligned"},
		{Mailbox{Size: 24, InAddr: 4294967288, InCap: 4294967295}, "mailbox states an input buffer 4294967288+4294967295 beyond the memory of 65536 bytes"},
		{Mailbox{Size: 24, OutAddr: 65530, OutLen: 7}, "mailbox states output 65530+7 beyond the memory of 65536 bytes"},
	}
	for _, tc := range cases {
		m, err := DecodeMailbox(AppendMailbox(nil, tc.m))
		if err == nil {
			err = m.Check(65536)
		}
		if err == nil || err.Error() != tc.want || !errors.Is(err, ErrMailbox) {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
	if _, err := DecodeMailbox(b[:23]); err == nil || err.Error() != "mailbox has 23 bytes (want 24)" {
		t.Error(err)
	}
}
