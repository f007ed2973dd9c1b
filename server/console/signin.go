package console

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/anchor-host/anchor-host/server"
)

// signInData is what the form to sign in shows.
type signInData struct {
	Next    string
	Problem string
}

// askToSignIn leads to the form, and from there back to the page.
func (v *visit) askToSignIn() error {
	if v.r.Method != http.MethodGet {
		return problemf(http.StatusUnauthorized, "Sign in first.")
	}
	if v.r.URL.Path == "/console/events" {
		v.w.WriteHeader(http.StatusNoContent) // a browser then asks no more
		return nil
	}
	http.Redirect(v.w, v.r, v.link("sign-in", "next", v.r.URL.RequestURI()), http.StatusSeeOther)
	return nil
}

// nextPage is where a user goes after signing in: a page of the console and nothing else. The path must
// be clean, because a redirect resolves dots, which may lead out of the console.
func nextPage(asked string) string {
	at, err := url.Parse(asked)
	if err != nil || path.Clean(at.Path) != strings.TrimSuffix(at.Path, "/") {
		return "/console/"
	}
	if !strings.HasPrefix(asked, "/console/") || strings.HasPrefix(asked, "/console/sign-") || strings.ContainsAny(asked, "\\\r\n") || len(asked) > 2000 {
		return "/console/"
	}
	return asked
}

// signIn shows the form, and begins a session for a valid key.
func (v *visit) signIn() error {
	next := nextPage(v.query.Get("next"))
	if v.c.o.Authenticator == nil {
		http.Redirect(v.w, v.r, "/console/", http.StatusSeeOther)
		return nil
	}
	if v.r.Method != http.MethodPost {
		v.show(http.StatusOK, "signin", "Sign in", signInData{Next: next})
		return nil
	}
	if err := v.readForm(); err != nil {
		return err
	}
	next = nextPage(v.r.PostForm.Get("next"))
	from := addressOf(v.r)
	if !v.c.attempts.take(from) {
		v.w.Header().Set("Retry-After", "60")
		v.show(http.StatusTooManyRequests, "signin", "Sign in", signInData{next, "There were too many attempts. Wait a minute."})
		return nil
	}
	key := strings.TrimSpace(v.r.PostForm.Get("key"))
	who, err := v.c.authenticate(v.r, key)
	if err != nil {
		v.show(http.StatusUnauthorized, "signin", "Sign in", signInData{next, "This is no valid key."})
		return nil
	}
	v.c.attempts.succeed(from)
	server.Identify(v.r, who)
	_, cookie := v.c.sessions.begin(key)
	v.setCookie(cookie, int(wholeTime.Seconds()))
	http.Redirect(v.w, v.r, next, http.StatusSeeOther)
	return nil
}

// setCookie sets the cookie of the session. With an age below 0 it is removed.
func (v *visit) setCookie(value string, age int) {
	http.SetCookie(v.w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/console/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.r.TLS != nil,
	})
}

// signOut ends the session.
func (v *visit) signOut() error {
	if v.session != nil {
		v.c.sessions.end(v.session)
	}
	v.setCookie("", -1)
	http.Redirect(v.w, v.r, "/console/sign-in", http.StatusSeeOther)
	return nil
}
