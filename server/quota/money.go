package quota

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/anchor-host/anchor-host/server"
)

// day is that of quotas of money. It begins at midnight in UTC, so it is that of the wall clock.
const day = 24 * time.Hour

// untilMidnight returns how long the day still is.
func untilMidnight(now time.Time) time.Duration { return now.UTC().Truncate(day).Add(day).Sub(now) }

// micro is a number of dollars in millionths, as fields of a header have whole numbers only.
func micro(usd float64) int64 { return int64(usd * 1e6) }

// checkMoney refuses a build whose tenant or key has spent what it may in a day. What a build costs is known
// when it ends, so those that run together can spend more. Unless it is refused, header gets what is left.
func (a *Admission) checkMoney(ctx context.Context, p server.Principal, header http.Header) error {
	tenant, key := a.options.Limits(p)
	if a.options.Spent == nil || tenant.USDPerDay == 0 && key.USDPerDay == 0 {
		return nil
	}
	byTenant, byKey, err := a.options.Spent(ctx, p.Tenant, p.KeyID)
	if err != nil {
		return fmt.Errorf("quota: what was spent today: %w", err)
	}
	now := time.Now()
	wait := untilMidnight(now)
	who, limit, left := "the tenant", tenant.USDPerDay, tenant.USDPerDay-byTenant
	if rest := key.USDPerDay - byKey; limit == 0 || key.USDPerDay > 0 && rest < left {
		who, limit, left = "the key", key.USDPerDay, rest
	}
	policy := fmt.Sprintf("%q;q=%d;w=%d;qu=%q", "cost", micro(limit), int64(day.Seconds()), "micro-usd")
	is := fmt.Sprintf("%q;r=%d;t=%s", "cost", micro(max(0, left)), wholeSeconds(wait))
	if left > 0 {
		if header != nil {
			join(header, "RateLimit-Policy", policy)
			join(header, "RateLimit", is)
		}
		return nil
	}
	return &server.Refusal{
		Status: http.StatusTooManyRequests, Reason: "quota_exceeded",
		Message:    fmt.Sprintf("%s has spent the %g US dollars that it may spend in a day", who, limit),
		Remedy:     "try again after midnight in UTC, or ask the operator for more",
		RetryAfter: wait, Header: http.Header{"Ratelimit-Policy": {policy}, "Ratelimit": {is}},
	}
}

// join adds a value to a field of a list.
func join(h http.Header, name, value string) {
	if before := h.Get(name); before != "" {
		value = before + ", " + value
	}
	h.Set(name, value)
}
