package anchor;

import org.teavm.ast.InvocationExpr;
import org.teavm.backend.wasm.TeaVMWasmHost;
import org.teavm.backend.wasm.intrinsics.WasmIntrinsic;
import org.teavm.backend.wasm.intrinsics.WasmIntrinsicManager;
import org.teavm.backend.wasm.model.expression.WasmExpression;
import org.teavm.backend.wasm.model.expression.WasmFloatType;
import org.teavm.backend.wasm.model.expression.WasmFloatUnary;
import org.teavm.backend.wasm.model.expression.WasmFloatUnaryOperation;
import org.teavm.model.MethodReference;
import org.teavm.vm.spi.TeaVMHost;
import org.teavm.vm.spi.TeaVMPlugin;

/** Makes one instruction of methods of java.lang.Math that are one. TeaVM finds this class by META-INF/services. */
public final class Plugin implements TeaVMPlugin {
    @Override
    public void install(TeaVMHost host) {
        var wasm = host.getExtension(TeaVMWasmHost.class);
        if (wasm != null) {
            wasm.add(context -> new Rounding());
        }
    }

    private static final class Rounding implements WasmIntrinsic {
        @Override
        public boolean isApplicable(MethodReference method) {
            return method.getClassName().equals("java.lang.Math") && method.getParameterTypes().length == 1 && switch (method.getName()) {
                case "floor", "ceil", "sqrt" -> true;
                default -> false;
            };
        }

        @Override
        public WasmExpression apply(InvocationExpr invocation, WasmIntrinsicManager manager) {
            var operation = WasmFloatUnaryOperation.valueOf(invocation.getMethod().getName().toUpperCase(java.util.Locale.ROOT));
            return new WasmFloatUnary(WasmFloatType.FLOAT64, operation, manager.generate(invocation.getArguments().get(0)));
        }
    }
}
