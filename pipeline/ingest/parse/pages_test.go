package parse

import (
	"strings"
	"testing"
)

// TestPages holds what becomes of the parts of a page.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"rowspan and colspan": {
			"<table><tr><th>Stage<th>Who<th colspan=2>When</tr><tr><td rowspan=2>Test<td>Ann<td>1<td>2<tr><td>Bob<td>3<td>4</table>",
			"table 1-1 \"Stage | Who | When | When\\nTest | Ann | 1 | 2\\nTest | Bob | 3 | 4\"\n",
		},
		"a cell of several rows and columns": {
			"<table><tr><td rowspan=2 colspan=2>A<td>1<tr><td>2<tr><td colspan=3>All of it<tr><td>b<td colspan=2>" + strings.Repeat("long ", 30) + "</table>",
			"table 1-1 \"A | A | 1\\nA | A | 2\\nAll of it\\nb | " + strings.Repeat("long ", 29) + "long\"\n",
		},
		"menus of a page without a main part": {
			"<div class='Main-Menu'><ul><li><a href=/>Home</a><li><a href=a>About</a></ul></div><div><img src=a><a href=b></a><a href=c></a><a href=d></a></div><p>First.</p>" +
				"<a href=a>One</a> | <a href=b>Two</a> | <a href=c>Three</a><h1>Guide</h1><ul><li><a href=a>kept</a><li><a href=b>links</a><li><a href=c>of it</a></ul><div id=menu>Soup 5 €<br>Fish 9 €</div>",
			"text 1-1 \"First.\"\nh1 1-1 \"Guide\"\ntext 1-1 \"- kept\\n- links\\n- of it\"\ntext 1-1 \"Soup 5 €\\nFish 9 €\"\n",
		},
		"links without a heading": {"<a href=a>One</a> | <a href=b>Two</a> | <a href=c>Three</a><p>text", "text 1-1 \"One | Two | Three\"\ntext 1-1 \"text\"\n"},
		"links to the pages around": {
			"<div class=\"navheader x\"><table><tr><th>Chapter 6<tr><td><a href=a>Prev</a></table></div><h1>A</h1><p>text</p><div class=navfooter><div>x</div><table><tr><td>6.2. The next</table></div><p>more",
			"h1 1-1 \"A\"\ntext 1-1 \"text\"\ntext 1-1 \"more\"\n",
		},
		"a page within the class of them": {"<html class=navfooter><body class=nav-panel><hr class=navheader><p>text", "text 1-1 \"text\"\n"},
		"links in the main part":          {"<main><div class=menu><a href=a>One</a></div><h1>A</h1></main>", "text 1-1 \"One\"\nh1 1-1 \"A\"\n"},
		"a list of contents stays":        {"<ul><li><a href=#a>One</a><li><a href=#b>Two</a><li><a href=#c>Three</a></ul><h1>One</h1>", "text 1-1 \"- One\\n- Two\\n- Three\"\nh1 1-1 \"One\"\n"},
		"a paragraph that is bold only": {
			"<p><b>Fees</b> and <b>dates</b></p><p><strong>Who <b>pays</b>?</strong></p><p>All.</p><p><b>Pay at once.</b></p><ul><li><b>item</b></ul><table><tr><td><b>cell</b></table>",
			"text 1-1 \"Fees and dates\"\nh6 1-1 \"Who pays?\"\ntext 1-1 \"All.\"\ntext 1-1 \"Pay at once.\"\ntext 1-1 \"- item\"\ntable 1-1 \"cell\"\n",
		},
		"rowspan at the end": {"<table><tr><td>a<td rowspan=3>x<tr><td>b<tr><td>c</table>", "table 1-1 \"a | x\\nb | x\\nc | x\"\n"},
		"nested table": {
			"<table><tr><td>Out<td><table><tr><td>a<td>b</tr><tr><td>c<td>d</tr></table></td></tr><tr><td>next</table>",
			"table 1-1 \"Out | a b; c d\\nnext\"\n",
		},
		"hidden": {
			"<p>seen<p hidden>no<p>seen too<div style='color:red; display : none'>no<div>no</div></div><span aria-hidden=true>icon</span>" +
				"<ul><li>one<li style=visibility:hidden>no<li>two</ul><template><p>no</template><div hidden>no<p>no</div>end<input hidden>.",
			"text 1-1 \"seen\"\ntext 1-1 \"seen too\"\ntext 1-1 \"- one\\n- two\"\ntext 1-1 \"end.\"\n",
		},
		"permalink": {"<h2>Decoder<a class=headerlink href='#d'>¶</a></h2><p>See <a href='#x'>x</a>.", "h2 1-1 \"Decoder\"\ntext 1-1 \"See x.\"\n"},
		"lists": {
			"<ul><li><p>first<li><p>second</p><p>more</p></li><li></li></ul><ol start=3><li>three<li>four</ol>",
			"text 1-1 \"- first\\n- second\"\ntext 1-1 \"more\"\ntext 1-1 \"3. three\\n4. four\"\n",
		},
		"descriptions": {
			"<dl><dt>--force</dt><dd><p>Overwrites.</p><p>More.</p></dd><dt>-a<dt>--all<dd>All files.<dd>Also others.</dl><dl><dt>alone</dl><p>end" +
				"<dl><dt><h3>Head</h3></dt><dd>below</dd><dt><pre>code</pre><dd>text</dl>",
			"text 1-1 \"--force\\nOverwrites.\"\ntext 1-1 \"More.\"\ntext 1-1 \"-a\\n--all\\nAll files.\"\ntext 1-1 \"Also others.\"\n" +
				"text 1-1 \"alone\"\ntext 1-1 \"end\"\nh3 1-1 \"Head\"\ntext 1-1 \"below\"\ncode 1-1 \"code\"\ntext 1-1 \"text\"\n",
		},
		"navigation": {
			"<header>Site</header><nav>menu</nav><main><header><h1>Title</h1></header><p>Text</main><div role=navigation>more</div><footer>Legal</footer>",
			"h1 1-1 \"Title\"\ntext 1-1 \"Text\"\n",
		},
		"no main part": {"<header>Head</header><p>Text<footer>Foot</footer>", "text 1-1 \"Head\"\ntext 1-1 \"Text\"\ntext 1-1 \"Foot\"\n"},
		"soft hyphens": {"<p>soft&shy;hyphen so\u00adft <img alt='A chart' src=x>", "text 1-1 \"softhyphen soft [A chart]\"\n"},
		"charset":      {"<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'><p>\x89\xef\x8bc", "text 1-1 \"会議\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := read(t, "a.html", []byte(c.text), Limits{})
			if err != nil || len(docs) != 1 {
				t.Fatalf("%d documents, error %v", len(docs), err)
			}
			if got := show(docs[0]); got != c.want {
				t.Errorf("blocks:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
	docs, err := read(t, "a.csv", []byte("name\tcity, land\nAnn\tOslo\n"), Limits{})
	if err != nil || len(docs) != 1 || show(docs[0]) != "rows 1-2 \"name | city, land\\nAnn | Oslo\"\n" {
		t.Errorf("a list with tabs: %v, error %v", docs, err)
	}
}
