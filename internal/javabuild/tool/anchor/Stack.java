package anchor;

import org.teavm.backend.wasm.WasmHeap;
import org.teavm.backend.wasm.runtime.WasiSupport;
import org.teavm.interop.Address;
import org.teavm.interop.StaticInit;
import org.teavm.interop.Unmanaged;
import org.teavm.runtime.ExceptionHandling;

/** Part of each module: the stack of references, which ends before the heap begins. */
@StaticInit
@Unmanaged
public final class Stack {
    private Stack() {
    }

    /** What org.teavm.backend.wasm.WasmRuntime.allocStack does, which does not see where the stack ends. */
    @Unmanaged
    public static Address alloc(int size) {
        Address result = WasmHeap.stack.add(4);
        Address top = result.add((size << 2) + 4);
        if (top.toInt() + 4 > WasmHeap.heapAddress.toInt()) {
            WasiSupport.printString("java.lang.StackOverflowError: calls nest too deeply\n");
            ExceptionHandling.abort();
        }
        top.putInt(size);
        WasmHeap.stack = top;
        return result;
    }
}
