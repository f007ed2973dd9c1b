package anchor;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.teavm.backend.wasm.WasmRuntime;
import org.teavm.interop.Address;
import org.teavm.interop.Import;
import org.teavm.interop.Unmanaged;
import org.teavm.model.ClassHolder;
import org.teavm.model.ClassHolderTransformer;
import org.teavm.model.ClassHolderTransformerContext;
import org.teavm.model.ClassReader;
import org.teavm.model.ElementModifier;
import org.teavm.model.Instruction;
import org.teavm.model.MethodDescriptor;
import org.teavm.model.MethodHolder;
import org.teavm.model.MethodReference;
import org.teavm.model.Program;
import org.teavm.model.ValueType;
import org.teavm.model.Variable;
import org.teavm.model.emit.ProgramEmitter;
import org.teavm.model.emit.ValueEmitter;
import org.teavm.model.instructions.BinaryInstruction;
import org.teavm.model.instructions.BinaryOperation;
import org.teavm.model.instructions.IntegerConstantInstruction;
import org.teavm.model.instructions.LongConstantInstruction;
import org.teavm.model.instructions.NumericOperandType;
import org.teavm.model.util.InstructionVariableMapper;

/** Changes methods of the runtime and of the helper library that Java cannot express. */
public final class Reshape implements ClassHolderTransformer {
    /** Where sources divide by the constant 0, with what to do. TeaVM fails on a constant that is divided by it. */
    static final List<String> zeros = Collections.synchronizedList(new ArrayList<>());

    @Override
    public void transformClass(ClassHolder cls, ClassHolderTransformerContext context) {
        for (MethodHolder method : cls.getMethods()) {
            if (method.getProgram() != null) {
                findZeros(method.getProgram());
            }
            switch (cls.getName() + "." + method.getName()) {
                case "org.teavm.backend.wasm.WasmRuntime.allocStack" -> {
                    var program = ProgramEmitter.create(method, context.getHierarchy());
                    program.invoke(Stack.class, "alloc", Address.class, program.var(1, int.class)).returnValue();
                }
                case "org.teavm.runtime.GC.resizeHeapIfNecessary" -> roomier(method.getProgram());
                case "io.anchorhost.Host.reseed" -> {
                    var program = ProgramEmitter.create(method, context.getHierarchy());
                    program.setField("org.teavm.backend.wasm.runtime.WasiSupport", "randomInitialized", program.constant(0));
                    program.exit();
                }
                case "AnchorExports.load" -> load(method, context);
                case "java.lang.Math.exp", "java.lang.Math.log", "java.lang.Math.sin", "java.lang.Math.cos", "java.lang.Math.tan",
                    "java.lang.Math.asin", "java.lang.Math.acos", "java.lang.Math.atan", "java.lang.Math.atan2",
                    "java.lang.System.nanoTimeWasm", "org.teavm.classlib.impl.tz.DateTimeZoneProvider.getNativeOffset" -> ours(method, context);
                default -> {
                }
            }
        }
    }

    private static void findZeros(Program program) {
        for (int i = 0; i < program.basicBlockCount(); i++) {
            for (Instruction each : program.basicBlockAt(i)) {
                if (each instanceof BinaryInstruction binary && each.getLocation() != null && isZero(each.getPrevious(), binary.getSecondOperand())
                    && (binary.getOperation() == BinaryOperation.DIVIDE || binary.getOperation() == BinaryOperation.MODULO)) {
                    zeros.add(each.getLocation().getFileName() + ":" + each.getLocation().getLine() + ": divides by 0 (throw an ArithmeticException, if that is what you mean)");
                }
            }
        }
    }

    private static boolean isZero(Instruction set, Variable divisor) {
        return set instanceof IntegerConstantInstruction small && small.getReceiver() == divisor && small.getConstant() == 0
            || set instanceof LongConstantInstruction large && large.getReceiver() == divisor && large.getConstant() == 0;
    }

    // Runs the static initializer of the plugin. TeaVM keeps names and texts of exceptions only where it sees
    // them thrown, and does not look into what a start of a class throws: the call that never happens shows it.
    private static void load(MethodHolder method, ClassHolderTransformerContext context) {
        var program = ProgramEmitter.create(method, context.getHierarchy());
        String plugin = System.getProperty("anchor.plugin");
        program.initClass(plugin);
        ClassReader found = context.getHierarchy().getClassSource().get(plugin);
        if (found != null && found.getMethod(new MethodDescriptor("<clinit>", void.class)) != null) {
            var failure = program.getField("io.anchorhost.Guest", "failure", ValueType.parse(String.class));
            program.when(failure.isNotNull()).thenDo(() -> program.invoke(plugin, "<clinit>"));
        }
        program.exit();
    }

    // Has a native method call the one of its name in Maths.
    private static void ours(MethodHolder method, ClassHolderTransformerContext context) {
        if (!method.hasModifier(ElementModifier.NATIVE)) {
            return;
        }
        method.getModifiers().remove(ElementModifier.NATIVE);
        method.getAnnotations().remove(Import.class.getName());
        method.getAnnotations().remove(Unmanaged.class.getName());
        method.getAnnotations().remove("org.teavm.backend.javascript.spi.GeneratedBy");
        var program = ProgramEmitter.create(method, context.getHierarchy());
        var arguments = new ValueEmitter[method.parameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = program.var(i + 1, method.parameterType(i));
        }
        program.invoke(new MethodReference(Maths.class.getName(), method.getDescriptor()), arguments).returnValue();
    }

    // The collector asks for the bytes that it lacks. If they are rounded up by less than the size of
    // the least piece, it finds no place for an object and gives up, although there is memory.
    private static void roomier(Program program) {
        Variable asked = program.variableAt(1), more = program.createVariable(), sum = program.createVariable();
        var mapper = new InstructionVariableMapper(v -> v == asked ? sum : v);
        for (int i = 0; i < program.basicBlockCount(); i++) {
            mapper.apply(program.basicBlockAt(i));
        }
        var constant = new LongConstantInstruction();
        constant.setConstant(64);
        constant.setReceiver(more);
        var add = new BinaryInstruction(BinaryOperation.ADD, NumericOperandType.LONG);
        add.setFirstOperand(asked);
        add.setSecondOperand(more);
        add.setReceiver(sum);
        var first = program.basicBlockAt(0).getFirstInstruction();
        first.insertPrevious(constant);
        first.insertPrevious(add);
    }
}
