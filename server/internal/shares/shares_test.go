package shares

import (
	"fmt"
	"testing"
)

// One alone has what there is, the next has what is left of it, and what is given back leaves nothing behind.
func TestShares(t *testing.T) {
	s := New(100)
	if !s.Take("a", 50) || s.Take("a", 1) || !s.Take("b", 25) || s.Take("b", 1) || s.Used() != 75 {
		t.Errorf("shares of %d units: %v", s.Used(), s.tenants)
	}
	if !s.TakeOne("c", 1000) || s.TakeOne("c", 1) {
		t.Error("a tenant may have one of any size, and no second beyond the limit")
	}
	s.Give("a", 50)
	s.Give("b", 25)
	s.Give("c", 1000)
	if s.Used() != 0 || len(s.tenants) != 0 {
		t.Errorf("%d units and %v are left", s.Used(), s.tenants)
	}
}

// However many tenants take what they can, something is left for the next.
func TestSharesLeaveSomething(t *testing.T) {
	s := New(1 << 20)
	for tenant := range 8 {
		name, had := fmt.Sprint(tenant), int64(0)
		for s.Take(name, 1<<10) {
			had += 1 << 10
		}
		if had == 0 || tenant == 0 && had != 1<<19 {
			t.Errorf("tenant %d has %d bytes", tenant, had)
		}
	}
	if !s.TakeOne("large", 1<<30) || s.TakeOne("large", 1) {
		t.Error("a tenant may always have one, and no more than is left")
	}
	s.Give("large", 1<<30)
	if len(s.tenants) != 8 {
		t.Errorf("%d tenants", len(s.tenants))
	}
}
