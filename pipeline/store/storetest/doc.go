// Package storetest is the contract of [store.Store] as tests: every implementation
// passes all of them.
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Opener {
//			path := filepath.Join(t.TempDir(), "store.db")
//			return storetest.Opener{
//				Open:    func(t *testing.T) store.Store { … },
//				Durable: true,
//			}
//		})
//	}
package storetest
