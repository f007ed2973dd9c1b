package charset

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// texts are sentences with the charsets in which they were written before UTF-8.
var texts = []struct{ charsets, text string }{
	{"windows-1251 koi8-r iso-8859-5 ibm866", "Совещание начинается в понедельник в девять часов утра, просьба не опаздывать."},
	{"windows-1251 koi8-u", "Нарада починається в понеділок о дев'ятій годині ранку, прохання не спізнюватися."},
	{"shift_jis euc-jp iso-2022-jp", "これは普通の日本語の文章です。会議は月曜日の午前九時に始まります。"},
	{"gbk gb18030", "这是一个普通的中文文本，会议将在星期一上午九点举行，请不要迟到。"},
	{"big5", "這是一個普通的中文文本，會議將在星期一上午九點舉行，請不要遲到。"},
	{"euc-kr", "이것은 일반적인 한국어 문장입니다. 회의는 월요일 오전 아홉 시에 시작합니다."},
	{"windows-1252", "Der Zug fährt über die Brücke nach Köln, und der Fluß ist schön."},
	{"windows-1252", "Le train de nuit s’arrête à la frontière : déjà neuf heures, et la fenêtre est gelée."},
	{"windows-1250 iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy, schůzka začíná v pondělí."},
	{"windows-1250 iso-8859-2", "Spotkanie zaczyna się w poniedziałek o dziewiątej, proszę się nie spóźnić, źle byłoby."},
	{"windows-1253 iso-8859-7", "Η συνάντηση αρχίζει τη Δευτέρα στις εννέα το πρωί, παρακαλώ μην αργήσετε."},
	{"windows-1254", "Toplantı pazartesi günü saat dokuzda başlayacak, lütfen geç kalmayınız, çünkü önemli."},
	{"windows-1255", "הפגישה מתחילה ביום שני בתשע בבוקר, נא לא לאחר כי זה חשוב מאוד."},
	{"windows-1256", "يبدأ الاجتماع يوم الاثنين في الساعة التاسعة صباحا، يرجى عدم التأخر."},
	{"windows-874", "การประชุมจะเริ่มในวันจันทร์เวลาเก้าโมงเช้า กรุณาอย่ามาสาย"},
}

// TestGuess holds that a text is read as it was meant, without any declaration.
func TestGuess(t *testing.T) {
	for _, x := range texts {
		for name := range strings.FieldsSeq(x.charsets) {
			c := Of(encode(t, name, x.text))
			if got := string(c.Decode(encode(t, name, x.text))); got != x.text {
				t.Errorf("%s read as %s (%d %%): %s", name, c.Name, c.Sure, got)
			}
			if c.Sure < 50 || c.Sure > 99 && c.Name != "iso-2022-jp" {
				t.Errorf("%s: %d %% sure", name, c.Sure)
			}
		}
	}
}

// TestSigns holds that signs between English words are no letters of other alphabets.
func TestSigns(t *testing.T) {
	for _, text := range []string{"Acme® and Beta® are marks of Example. © 2020 Example", "Guide® ©", "Is it\u00a0so? Soft\u00adware of A\u00a0B, caf\u00e9"} {
		b := encode(t, "windows-1252", text)
		if c := Of(b); string(c.Decode(b)) != text {
			t.Errorf("read as %s (%d %%): %s", c.Name, c.Sure, c.Decode(b))
		}
	}
}

func encode(t *testing.T, name, text string) []byte {
	enc, _ := charset.Lookup(name)
	b, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}

// TestSure holds that a text of one word is a guess that is told, and a long one is not.
func TestSure(t *testing.T) {
	word := Of(encode(t, "windows-1251", "да"))
	if word.Doubt() == "" || !strings.Contains(word.Doubt(), "UTF-8") {
		t.Errorf("%s %d: %q", word.Name, word.Sure, word.Doubt())
	}
	long := Of(encode(t, "windows-1251", strings.Repeat(texts[0].text+"\n", 30)))
	if long.Doubt() != "" {
		t.Errorf("%s %d: %q", long.Name, long.Sure, long.Doubt())
	}
}

func TestMarks(t *testing.T) {
	for name, order := range map[string]unicode.Endianness{"utf-16le": unicode.LittleEndian, "utf-16be": unicode.BigEndian} {
		for _, bom := range []unicode.BOMPolicy{unicode.UseBOM, unicode.IgnoreBOM} {
			for _, text := range []string{"Hello world, one line.\n", texts[0].text, texts[2].text + "\nA"} {
				b, err := unicode.UTF16(order, bom).NewEncoder().Bytes([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				c := Of(b)
				if got := string(c.Decode(b[c.Mark:])); got != text || c.Name != name {
					t.Errorf("%s, mark %v: %s %q", name, bom, c.Name, got)
				}
			}
		}
	}
	if c := Of([]byte("\xef\xbb\xbfhi")); c.Name != "utf-8" || c.Mark != 3 {
		t.Errorf("%+v", c)
	}
}

// TestFar holds that the first letters may be far from the start, and that a damaged byte is no charset.
func TestFar(t *testing.T) {
	b := append([]byte(strings.Repeat("a line of ASCII\n", 1<<13)), encode(t, "koi8-r", texts[0].text)...)
	if c := Of(b); c.Name != "koi8-u" {
		t.Errorf("%s", c.Name)
	}
	if c := Of([]byte(strings.Repeat(texts[0].text, 3) + "\xff")); c.Name != "utf-8" {
		t.Errorf("%s", c.Name)
	}
}

func TestDeclared(t *testing.T) {
	for page, want := range map[string]string{
		`<html><head><meta charset="windows-1251">`:                                         "windows-1251",
		`<META HTTP-EQUIV=Content-Type CONTENT="text/html; charset=iso-8859-6">`:            "iso-8859-6",
		`<meta content=text/html; charset = iso-8859-6 http-equiv=Content-Type>`:            "iso-8859-6",
		`<?xml version="1.0" encoding="koi8-r"?><html>`:                                     "koi8-r",
		`<!-- <meta charset=big5> --><script>"<meta charset=gbk>"</script><title>x</title>`: "",
		strings.Repeat("<style>a{}</style>\n", 500) + `<meta charset='Shift_JIS'>`:          "Shift_JIS",
		`<meta name="description" content="charset=big5"><body><meta charset="gbk">`:        "",
	} {
		if got := Declared([]byte(page)); got != want {
			t.Errorf("%.60s: %q, want %q", page, got, want)
		}
	}
	for _, c := range []struct{ text, declared, want string }{
		{"Привет", "iso-8859-1", "utf-8"}, // servers declare this for all
		{string(encode(t, "windows-1251", "да")), "windows-1251", "windows-1251"},
		{string(encode(t, "windows-1251", texts[0].text)), "utf-8", "windows-1251"},
		{string(encode(t, "windows-1251", texts[0].text)), "gb18030", "windows-1251"}, // it does not obey
		{"ascii", "windows-1251", "windows-1251"},
		{"ascii", "nonsense", "utf-8"},
	} {
		if got := Of([]byte(c.text), "", c.declared); got.Name != c.want {
			t.Errorf("%q declared as %s: %s, want %s", c.text, c.declared, got.Name, c.want)
		}
	}
}

func FuzzCharset(f *testing.F) {
	f.Add([]byte("\xcf\xf0\xe8\xe2\xe5\xf2"), "")
	f.Add([]byte("\x1b$B%F%9%H\x1b(B"), "iso-2022-jp")
	f.Add([]byte("<meta charset=x>\xff\xfe"), "gbk")
	f.Add([]byte("h\x00i\x00\n\x00"), "big5")
	f.Fuzz(func(t *testing.T, text []byte, declared string) {
		c := Of(text, declared, Declared(text))
		if c.Mark > len(text) || c.Sure < 1 || c.Sure > 100 || c.Name != Of(text, declared, Declared(text)).Name {
			t.Errorf("%+v", c)
		}
		if out := c.Decode(text[c.Mark:]); len(out) > 3*len(text)+3 {
			t.Errorf("%d bytes became %d", len(text), len(out))
		}
	})
}
