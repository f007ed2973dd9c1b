package plugin

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func settings(t testing.TB, change func(*Settings)) *Settings {
	t.Helper()
	s := new(Settings)
	s.Defaults()
	if change != nil {
		change(s)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func ExampleRedact() {
	var s Settings
	s.Defaults()
	if err := s.Validate(); err != nil {
		fmt.Println(err)
	}
	text, counts := Redact("Write to ann@example.com or call +1 555 010 9999.", &s)
	fmt.Println(text)
	fmt.Println(counts)
	// Output:
	// Write to [EMAIL] or call [PHONE].
	// email 1, phone 1
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no personal data", "Nothing to see here.", "Nothing to see here."},

		{"email", "a.b+c@mail.example.co.uk, x", "[EMAIL], x"},
		{"email in brackets", "<ann@example.com>;(bob@example.org)", "<[EMAIL]>;([EMAIL])"},
		{"email before a full stop", "Ask ann@example.com. Then", "Ask [EMAIL]. Then"},
		{"email with accents", "jörg@müller.de", "[EMAIL]"},
		{"email after ideographs", "请联系ann@example.com谢谢", "请联系[EMAIL]谢谢"},
		{"no email: no domain", "user@localhost @home a@b", "user@localhost @home a@b"},
		{"no email: number for a top level", "pkg@1.2.3", "pkg@1.2.3"},
		{"two emails in a row", "a@x.io b@y.io", "[EMAIL] [EMAIL]"},
		{"mailto", "mailto:ann@example.com?subject=x", "mailto:[EMAIL]?subject=x"},

		{"international", "+49 30 1234567 or +442079460958", "[PHONE] or [PHONE]"},
		{"international with brackets", "+1 (555) 010-9999", "[PHONE]"},
		{"too short", "+1234567 +12", "+1234567 +12"},
		{"north american", "555-234-5678 (555) 234-5678 1-800-555-0199", "[PHONE] [PHONE] [PHONE]"},
		{"north american and more", "555-234-5678 2 555-234-5678-9", "[PHONE] 2 555-234-5678-9"},
		{"national", "030 1234567, (030) 123 45 67, 01 23 45 67 89", "[PHONE], [PHONE], [PHONE]"},
		{"dates and times are no phones", "2024-01-15 12:30, 01.02.2024, 01/02/2024 12:30, 01.02.2024 1230", "2024-01-15 12:30, 01.02.2024, 01/02/2024 12:30, 01.02.2024 1230"},
		{"plain numbers are no phones", "1234567890 100 200 3000 12-34", "1234567890 100 200 3000 12-34"},
		{"versions and parts of words", "go1.26.8 x555-234-5678 x1.555-234-5678", "go1.26.8 x555-234-5678 x1.555-234-5678"},

		{"IPv4", "from 192.168.0.1:8080 to 10.0.0.0/8.", "from [IP]:8080 to [IP]/8."},
		{"IPv4 before a full stop", "It is 127.0.0.1.", "It is [IP]."},
		{"no IPv4", "1.2.3 1.2.3.4.5 256.1.1.1 1.2.3.400 v1.2.3.4", "1.2.3 1.2.3.4.5 256.1.1.1 1.2.3.400 v1.2.3.4"},
		{"IPv6", "2001:db8::1, fe80::1:2, ::1 and ::ffff:10.0.0.1", "[IP], [IP], [IP] and [IP]"},
		{"IPv6 in brackets", "[2001:db8::1]:443", "[[IP]]:443"},
		{"no IPv6", "12:30:45 std::vector a::b 00:1A:2B:3C:4D:5E ::", "12:30:45 std::vector a::b 00:1A:2B:3C:4D:5E ::"},

		{"cards", "4111 1111 1111 1111; 5555-5555-5555-4444; 378282246310005", "[CREDIT_CARD]; [CREDIT_CARD]; [CREDIT_CARD]"},
		{"card with a year after it", "4111 1111 1111 1111 2029", "[CREDIT_CARD] 2029"},
		{"no card: checksum", "4111 1111 1111 1112", "4111 1111 1111 1112"},
		{"grouped as on paper", "4222 2222 2222 2 3782-822463-10005", "4222 2222 2222 2 [CREDIT_CARD]"},
		{"no card: a part of a longer number", "41111111111111111111111", "41111111111111111111111"},
		{"no card: a time in milliseconds", "1700000000000", "1700000000000"},

		{"IBAN", "DE89 3704 0044 0532 0130 00, GB82WEST12345698765432", "[IBAN], [IBAN]"},
		{"IBAN in lower case", "gb82 west 1234 5698 7654 32", "[IBAN]"},
		{"no IBAN: checksum", "DE89 3704 0044 0532 0130 01", "DE89 3704 0044 0532 0130 01"},
		{"no IBAN: country", "ZZ89 3704 0044 0532 0130 00", "ZZ89 3704 0044 0532 0130 00"},

		{"invalid UTF-8 stays", "\xff ann@example.com \xc3", "\xff [EMAIL] \xc3"},
		{"at the edges", "@ + ( : +( 0", "@ + ( : +( 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := Redact(c.text, settings(t, nil)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestRedactSettings(t *testing.T) {
	const text = "ann@example.com +49 30 1234567 10.0.0.1 4111111111111111 DE89370400440532013000"
	for _, c := range []struct {
		name   string
		change func(*Settings)
		want   string
	}{
		{"everything", nil, "[EMAIL] [PHONE] [IP] [CREDIT_CARD] [IBAN]"},
		{"no emails", func(s *Settings) { s.Email = false }, "ann@example.com [PHONE] [IP] [CREDIT_CARD] [IBAN]"},
		{"no phones", func(s *Settings) { s.Phone = false }, "[EMAIL] +49 30 1234567 [IP] [CREDIT_CARD] [IBAN]"},
		{"no addresses", func(s *Settings) { s.IP = false }, "[EMAIL] [PHONE] 10.0.0.1 [CREDIT_CARD] [IBAN]"},
		{"no cards", func(s *Settings) { s.CreditCard = false }, "[EMAIL] [PHONE] [IP] 4111111111111111 [IBAN]"},
		{"no accounts", func(s *Settings) { s.IBAN = false }, "[EMAIL] [PHONE] [IP] [CREDIT_CARD] DE89370400440532013000"},
		{"labels", func(s *Settings) { s.Labels = map[string]string{"email": "<mail>", "ip": ""} }, "<mail> [PHONE]  [CREDIT_CARD] [IBAN]"},
		{"allowed", func(s *Settings) { s.Allow = []string{"Ann@Example.com", "10.0.0.1"} }, "ann@example.com [PHONE] 10.0.0.1 [CREDIT_CARD] [IBAN]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := Redact(text, settings(t, c.change)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestUnknownLabel(t *testing.T) {
	s := Settings{Labels: map[string]string{"mail": "x"}}
	want := `labels: unknown kind "mail" (known: email, iban, credit_card, ip, phone)`
	if err := s.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCounts(t *testing.T) {
	s := settings(t, nil)
	var total Counts
	for _, text := range []string{"a@x.io b@y.io", "10.0.0.1", "nothing"} {
		_, counts := Redact(text, s)
		total.Add(counts)
	}
	if got, want := total.String(), "email 2, ip 1"; got != want || total.Total() != 3 {
		t.Errorf("got %q, %d in all, want %q", got, total.Total(), want)
	}
}

// TestHugeTexts finishes only when the work grows with the length.
func TestHugeTexts(t *testing.T) {
	s := settings(t, nil)
	for _, unit := range []string{"a", "a.", "1", "1 ", "a@", "+1 ", "::", "1.", "(0) ", "DE89 ", "ä", "4111-"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		if got, _ := Redact(text, s); len(got) > 2*len(text) {
			t.Errorf("%q: %d bytes became %d", unit, len(text), len(got))
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("ann@example.com +1 (555) 010-9999 [2001:db8::1]:443 4111 1111 1111 1111 DE89 3704 0044 0532 0130 00")
	f.Add("请联系a@b.c \xff 0(0)0")
	f.Fuzz(func(t *testing.T, text string) {
		s := settings(t, nil)
		got, counts := Redact(text, s)
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if (counts.Total() == 0) != (got == text) {
			t.Fatalf("%d replaced, %q became %q", counts.Total(), text, got)
		}
	})
}

// How long does a text of 100 KB without personal data take?
func BenchmarkRedact(b *testing.B) {
	s := settings(b, nil)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, 42 times in 2026. ", 1600)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Redact(text, s)
	}
}
