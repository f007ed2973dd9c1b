// Package storetest has the contract of [store.Store] as tests, which every implementation
// must pass.
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
