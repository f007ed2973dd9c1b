package observe

import "context"

type userKey struct{}

// WithUser returns a context of work for a user, whose texts it may have. An empty user changes nothing.
func WithUser(ctx context.Context, user string) context.Context {
	if user == "" {
		return ctx
	}
	return context.WithValue(ctx, userKey{}, user)
}

// UserOf returns the user that [WithUser] set, "" for nobody.
func UserOf(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}
