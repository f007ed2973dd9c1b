package plugincmd

import "testing"

func TestReadableStacks(t *testing.T) {
	for stack, want := range map[string]string{
		"._ZN8pan_rust4deep17h112ade2251ee0e99E(i32)":                                                    ".pan_rust::deep(i32)",
		"._ZN3std9panicking19begin_panic_handler28_$u7b$$u7b$closure$u7d$$u7d$17h106d97be21bfe094E(i32)": ".std::panicking::begin_panic_handler::{{closure}}(i32)",
		"._RNvC6_123foo3bar(i32)":              ".123foo::bar(i32)",
		".main.deep(i32) i32\n":                ".main.deep(i32) i32\n",
		"._ZN(i32)":                            "._ZN(i32)",
		"	.keep(i32)\n\t\tplugin.c:7\n	.run()": "	.keep(i32)\n    plugin.c:7\n	.run()",
		".$12(i32) i32\n.$3() i32":             ".$12(i32) i32\n.$3() i32\n(for the names of functions: anchor-host plugin build --debug; plugins in JavaScript and Python have none)",
	} {
		if got := readable(stack); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", stack, got, want)
		}
	}
}
