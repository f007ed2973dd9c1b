package io.anchorhost;

import java.nio.charset.StandardCharsets;
import org.teavm.interop.Address;
import org.teavm.interop.Import;
import org.teavm.interop.PlatformMarker;
import org.teavm.interop.Platforms;

/** The functions of the host, and the way of bytes to it and back. A module imports those that it uses. */
final class Host {
    private static final String ENV = "extism:host/env", USER = "extism:host/user";

    private Host() {
    }

    /** Returns whether there is a host: there is none under plain Java. */
    @PlatformMarker(Platforms.WEBASSEMBLY)
    static boolean present() {
        return false;
    }

    @Import(module = ENV, name = "alloc")
    static native long alloc(long bytes);

    @Import(module = ENV, name = "length")
    static native long length(long block);

    @Import(module = ENV, name = "load_u8")
    static native int load8(long at);

    @Import(module = ENV, name = "load_u64")
    static native long load64(long at);

    @Import(module = ENV, name = "store_u8")
    static native void store8(long at, int value);

    @Import(module = ENV, name = "store_u64")
    static native void store64(long at, long value);

    @Import(module = ENV, name = "input_length")
    static native long inputLength();

    @Import(module = ENV, name = "input_load_u8")
    static native int input8(long at);

    @Import(module = ENV, name = "input_load_u64")
    static native long input64(long at);

    @Import(module = ENV, name = "output_set")
    static native void outputSet(long block, long bytes);

    @Import(module = ENV, name = "error_set")
    static native void errorSet(long block);

    @Import(module = ENV, name = "log_debug")
    static native void logDebug(long text);

    @Import(module = ENV, name = "log_info")
    static native void logInfo(long text);

    @Import(module = ENV, name = "log_warn")
    static native void logWarn(long text);

    @Import(module = ENV, name = "log_error")
    static native void logError(long text);

    @Import(module = ENV, name = "config_get")
    static native long configGet(long key);

    @Import(module = ENV, name = "http_request")
    static native long httpRequest(long request, long body);

    @Import(module = ENV, name = "http_status_code")
    static native int httpStatus();

    @Import(module = ENV, name = "http_headers")
    static native long httpHeaders();

    @Import(module = USER, name = "anchor_http_batch")
    static native long httpBatch(long requests);

    @Import(module = USER, name = "anchor_kv_get")
    static native long kvGet(long key);

    @Import(module = USER, name = "anchor_kv_set")
    static native int kvSet(long key, long value);

    @Import(module = USER, name = "anchor_count_tokens")
    static native long countTokens(long text);

    @Import(module = USER, name = "anchor_embed")
    static native long embed(long request);

    @Import(module = USER, name = "anchor_search")
    static native long search(long request);

    @Import(module = USER, name = "anchor_llm")
    static native long llm(long request);

    // Nothing is allocated while bytes are copied, as that may move the array.

    /** Returns the request. */
    static byte[] input() {
        byte[] bytes = new byte[size(inputLength())];
        Address to = Address.ofData(bytes);
        int whole = bytes.length & ~7;
        for (int i = 0; i < whole; i += 8) {
            to.add(i).putLong(input64(i));
        }
        for (int i = whole; i < bytes.length; i++) {
            bytes[i] = (byte) input8(i);
        }
        return bytes;
    }

    /** Returns the bytes of a block, none for block 0. */
    static byte[] bytes(long block) {
        byte[] bytes = new byte[block == 0 ? 0 : size(length(block))];
        Address to = Address.ofData(bytes);
        int whole = bytes.length & ~7;
        for (int i = 0; i < whole; i += 8) {
            to.add(i).putLong(load64(block + i));
        }
        for (int i = whole; i < bytes.length; i++) {
            bytes[i] = (byte) load8(block + i);
        }
        return bytes;
    }

    private static int size(long length) {
        if (length < 0 || length > 1 << 30) {
            throw new IllegalStateException("a block of " + length + " bytes");
        }
        return (int) length;
    }

    /** Returns a new block with bytes, 0 for none. */
    static long block(byte[] bytes) {
        if (bytes.length == 0) {
            return 0;
        }
        long block = alloc(bytes.length);
        Address from = Address.ofData(bytes);
        int whole = bytes.length & ~7;
        for (int i = 0; i < whole; i += 8) {
            store64(block + i, from.add(i).getLong());
        }
        for (int i = whole; i < bytes.length; i++) {
            store8(block + i, bytes[i]);
        }
        return block;
    }

    static long block(String text) {
        return block(text.getBytes(StandardCharsets.UTF_8));
    }

    static long block(Json document) {
        return block(document.toString());
    }

    static Json document(long block) {
        return block == 0 ? Json.ABSENT : Json.parse(bytes(block));
    }

    /** Makes the next random number one of the host, not of the state after init. The build gives it its body. */
    static void reseed() {
    }
}
