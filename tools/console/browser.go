package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser is Chromium with one page.
type browser struct {
	ctx       context.Context
	cancel    []context.CancelFunc
	base, out string
	axe       string

	mu       sync.Mutex
	problems []string
	at       string
}

func startBrowser(ctx context.Context, base, axe, out string) (*browser, error) {
	b := &browser{base: base, axe: axe, out: out}
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath("chromium"), chromedp.WindowSize(1280, 900), chromedp.Flag("force-prefers-reduced-motion", true))
	if os.Getuid() == 0 {
		flags = append(flags, chromedp.NoSandbox)
	}
	allocated, stop := chromedp.NewExecAllocator(ctx, flags...)
	page, end := chromedp.NewContext(allocated)
	b.ctx, b.cancel = page, []context.CancelFunc{end, stop}
	chromedp.ListenTarget(page, b.hear)
	if err := chromedp.Run(page, network.Enable(), log.Enable()); err != nil {
		b.stop()
		return nil, fmt.Errorf("start Chromium: %w", err)
	}
	return b, nil
}

func (b *browser) stop() {
	for _, f := range b.cancel {
		f()
	}
}

// hear notes requests to other hosts, and what the page complains about.
func (b *browser) hear(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && u.Scheme != "blob" && u.Scheme+"://"+u.Host != b.base {
			b.problem("request to another host: " + e.Request.URL)
		}
	case *log.EventEntryAdded:
		// A page that is missing on purpose is no mistake.
		if (e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning) && e.Entry.Source != log.SourceNetwork {
			b.problem("browser: " + e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		b.problem("script: " + e.ExceptionDetails.Error())
	}
}

func (b *browser) problem(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, b.at+": "+text)
}

// findings is an error with everything that was found.
func (b *browser) findings() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) == 0 {
		return nil
	}
	slices.Sort(b.problems)
	return errors.New(strings.Join(slices.Compact(b.problems), "\n"))
}

func (b *browser) now(at string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = at
}

// do runs actions within a time.
func (b *browser) do(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// open loads a page.
func (b *browser) open(path string) error {
	if err := b.do(chromedp.Navigate(b.base+path), chromedp.WaitReady("main")); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// scheme sets whether the user prefers dark pages.
func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}

// shot keeps a screenshot of the whole page.
func (b *browser) shot(name string) error {
	var png []byte
	if err := b.do(chromedp.FullScreenshot(&png, 100)); err != nil {
		return fmt.Errorf("screenshot of %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(b.out, name+".png"), png, 0o644)
}

// signIn signs in with the keyboard alone.
func (b *browser) signIn(key string) error {
	b.now("sign in")
	if err := b.open("/console/builds?outcome=ok"); err != nil {
		return err
	}
	if err := b.judge("sign-in"); err != nil {
		return err
	}
	var title, path string
	err := b.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".filter"), chromedp.Title(&title),
		chromedp.Evaluate(`location.pathname + location.search`, &path))
	if err != nil {
		return fmt.Errorf("sign in with the keyboard: %w", err)
	}
	if path != "/console/builds?outcome=ok" {
		return fmt.Errorf("after signing in the page is %s", path)
	}
	return nil
}

// walk looks at each page, light and dark.
func (b *browser) walk(list []address) error {
	for _, p := range list {
		b.now(p.name)
		if err := b.open(p.path); err != nil {
			return err
		}
		if err := b.judge(p.name); err != nil {
			return err
		}
		if err := b.do(scheme("dark")); err != nil {
			return err
		}
		if err := b.judge(p.name + "-dark"); err != nil {
			return err
		}
		if err := b.do(scheme("light")); err != nil {
			return err
		}
		if err := b.tabs(p.name); err != nil {
			return err
		}
		if err := b.phones(p.name); err != nil {
			return err
		}
	}
	return nil
}

// mostOfList is how high the list of 50 builds may be on a phone of 390 pixels.
const mostOfList = 6000

// phones looks at the page on two phones: nothing but drawings is wider than the screen.
func (b *browser) phones(name string) error {
	defer func() { _ = b.do(chromedp.EmulateViewport(1280, 900)) }()
	for _, width := range []int64{390, 320} {
		if err := b.do(chromedp.EmulateViewport(width, 800)); err != nil {
			return err
		}
		var found struct {
			Wide, High int64
			Out        []string
		}
		const ask = `({Wide: document.documentElement.scrollWidth, High: document.documentElement.scrollHeight, Out: [...document.querySelectorAll("main *")].filter(e => !e.closest(".drawn, thead") && e.checkVisibility() && getComputedStyle(e).position !== "absolute" && e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(e => e.outerHTML.slice(0, 120))})`
		if err := b.do(chromedp.Evaluate(ask, &found)); err != nil {
			return err
		}
		if found.Wide > width || len(found.Out) > 0 {
			b.problem(fmt.Sprintf("at %d pixels the page is %d wide: %s", width, found.Wide, strings.Join(found.Out, " ")))
		}
		if name == "builds" {
			fmt.Printf("the list of 50 builds at %d pixels: %d pixels high\n", width, found.High)
			if width == 390 && found.High > mostOfList {
				b.problem(fmt.Sprintf("the list of 50 builds is %d pixels high, want at most %d", found.High, mostOfList))
			}
		}
		if err := b.judge(fmt.Sprintf("%s-%d", name, width)); err != nil {
			return err
		}
		if err := b.do(scheme("dark")); err != nil {
			return err
		}
		if err := b.shot(fmt.Sprintf("%s-%d-dark", name, width)); err != nil {
			return err
		}
		if err := b.do(scheme("light")); err != nil {
			return err
		}
	}
	return nil
}

// tick compares two builds of the list by their boxes, with the script switched off.
func (b *browser) tick() error {
	b.now("tick two builds")
	if err := b.do(emulation.SetScriptExecutionDisabled(true)); err != nil {
		return err
	}
	defer func() { _ = b.do(emulation.SetScriptExecutionDisabled(false)) }()
	if err := b.open("/console/builds"); err != nil {
		return err
	}
	var title string
	err := b.do(chromedp.Click("tbody tr:nth-child(1) input[name=pick]"), chromedp.Click("tbody tr:nth-child(3) input[name=pick]"),
		chromedp.Click("form[action='/console/diff'] button"), chromedp.WaitReady("#h-windows"), chromedp.Title(&title))
	if err != nil {
		return fmt.Errorf("compare two builds that are ticked: %w", err)
	}
	return nil
}

// finding is a rule of axe that a page breaks.
type finding struct {
	ID, Impact, Help string
	Nodes            []string
}

// judge keeps a screenshot, and notes serious and critical findings of axe.
func (b *browser) judge(name string) error {
	if err := b.shot(name); err != nil {
		return err
	}
	var found []finding
	const ask = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))})))`
	err := b.do(chromedp.Evaluate(b.axe+"\n;0", nil), chromedp.Evaluate(ask, &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err != nil {
		return fmt.Errorf("axe on %s: %w", name, err)
	}
	for _, f := range found {
		if f.Impact == "serious" || f.Impact == "critical" {
			b.problem(fmt.Sprintf("axe (%s): %s: %s: %s", name, f.ID, f.Help, strings.Join(f.Nodes, " ")))
		}
	}
	return nil
}

// maxTabs bounds how often the key Tab is pressed on one page.
const maxTabs = 60

// tabs presses Tab through a page: each press moves the focus to another element, which is visible
// and has an outline, until all were reached.
func (b *browser) tabs(name string) error {
	const count = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")].filter(e => e.checkVisibility()).length`
	const mark = `(() => { const e = document.activeElement; if (!e || e === document.body) return "none"; if (e.dataset.seen) return "again"; e.dataset.seen = 1;
		const r = e.getBoundingClientRect(), s = getComputedStyle(e); return r.width > 0 && s.outlineStyle !== "none" ? "ok" : "invisible: " + e.outerHTML.slice(0, 120) })()`
	var all int
	if err := b.do(chromedp.Evaluate(`document.activeElement && document.activeElement.blur()`, nil), chromedp.Evaluate(count, &all)); err != nil {
		return err
	}
	reached := 0
	for range min(all, maxTabs) {
		var got string
		if err := b.do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(mark, &got)); err != nil {
			return err
		}
		if got == "ok" {
			reached++
		} else if got != "again" || reached < min(all, maxTabs)-1 {
			b.problem(fmt.Sprintf("keyboard: Tab %d of %d leads to an element that is %s", reached+1, all, got))
			break
		}
	}
	if all == 0 {
		b.problem("keyboard: the page " + name + " has nothing to focus")
	}
	return nil
}

// keyboard goes with keys alone from the first page to a build, and shows the trace of an item.
func (b *browser) keyboard() error {
	b.now("keyboard")
	if err := b.open("/console/"); err != nil {
		return err
	}
	reach := func(what, is string) error {
		for range 200 {
			var there bool
			if err := b.do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(is, &there)); err != nil {
				return err
			}
			if there {
				return nil
			}
		}
		return fmt.Errorf("keyboard: %s cannot be reached with Tab", what)
	}
	enter := func(wait string) error {
		return b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(wait))
	}
	if err := reach("the link Builds", `document.activeElement.textContent === "Builds"`); err != nil {
		return err
	}
	if err := enter("form.filter"); err != nil {
		return err
	}
	if err := reach("a build", `document.activeElement.matches("table.builds td a")`); err != nil {
		return err
	}
	if err := enter("table.items"); err != nil {
		return err
	}
	if err := reach("an item", `document.activeElement.matches("td summary")`); err != nil {
		return err
	}
	var open bool
	if err := b.do(chromedp.KeyEvent(kb.Enter), chromedp.Evaluate(`document.activeElement.parentElement.open`, &open)); err != nil {
		return err
	}
	if !open {
		return errors.New("keyboard: Enter does not open the trace of an item")
	}
	return nil
}
