package anchor;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;
import org.teavm.diagnostics.DefaultProblemTextConsumer;
import org.teavm.diagnostics.Problem;
import org.teavm.model.CallLocation;
import org.teavm.tooling.EmptyTeaVMToolLog;
import org.teavm.tooling.TeaVMTargetType;
import org.teavm.tooling.TeaVMTool;
import org.teavm.vm.TeaVMOptimizationLevel;

/**
 * Compiles the sources of a plugin, and makes a module of them. The arguments: the folder of the project, a
 * folder for the output, the class path, the level (full or quick), the bytes of the heap, and folders of sources.
 * Without arguments it stays, and builds again and again.
 */
public final class Build {
    private static final int MOST_PROBLEMS = 20;

    private Build() {
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            System.exit(build(args) ? 0 : 1);
        }
        serve();
    }

    // Builds for each line of arguments on the standard input, and answers with a line: 0 or 1, and the messages.
    // Parts are encoded as in addresses.
    private static void serve() throws Exception {
        PrintStream answers = System.out;
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] args = Stream.of(line.split(" ")).skip(1).map(part -> URLDecoder.decode(part, StandardCharsets.UTF_8)).toArray(String[]::new);
            var said = new ByteArrayOutputStream();
            var messages = new PrintStream(said, true, StandardCharsets.UTF_8);
            System.setOut(messages);
            System.setErr(messages);
            boolean done = false;
            try {
                done = build(args);
            } catch (Throwable e) {
                e.printStackTrace();
            }
            answers.println((done ? "0 " : "1 ") + URLEncoder.encode(said.toString(StandardCharsets.UTF_8), StandardCharsets.UTF_8));
            answers.flush();
            System.gc(); // while nobody waits: the heap stays as large as a build needs
        }
    }

    private static boolean build(String[] args) throws Exception {
        Path project = Path.of(args[0]), out = Path.of(args[1]);
        List<File> path = new ArrayList<>();
        for (String each : args[2].split(File.pathSeparator)) {
            path.add(new File(each));
        }
        List<Path> folders = Stream.of(args).skip(5).map(Path::of).toList();
        Path classes = Files.createDirectories(out.resolve("classes"));
        return compile(project, folders, args[2], classes) && link(out, classes, path, args[3], Integer.parseInt(args[4]));
    }

    private static boolean compile(Path project, List<Path> folders, String path, Path classes) throws Exception {
        List<File> sources = new ArrayList<>();
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder, FileVisitOption.FOLLOW_LINKS)) {
                files.filter(file -> file.toString().endsWith(".java")).forEach(file -> sources.add(file.toFile()));
            }
        }
        var compiler = ToolProvider.getSystemJavaCompiler();
        if (compiler == null) {
            System.err.println("java: this Java has no compiler (install a JDK)");
            return false;
        }
        var found = new DiagnosticCollector<JavaFileObject>();
        try (var files = compiler.getStandardFileManager(found, Locale.ROOT, null)) {
            var options = List.of("-d", classes.toString(), "-cp", path, "--release", "17", "-g", "-proc:none", "-encoding", "UTF-8", "-Xlint:-options");
            boolean done = compiler.getTask(null, files, found, options, null, files.getJavaFileObjectsFromFiles(sources)).call();
            for (Diagnostic<? extends JavaFileObject> each : found.getDiagnostics()) {
                if (each.getKind() == Diagnostic.Kind.ERROR) {
                    System.err.println(shown(project, each));
                }
            }
            return done;
        }
    }

    private static String shown(Path project, Diagnostic<? extends JavaFileObject> each) {
        String text = each.getMessage(Locale.ROOT).strip();
        if (each.getSource() == null) {
            return text;
        }
        Path file = Path.of(each.getSource().toUri());
        if (file.endsWith("AnchorExports.java")) {
            text = "Plugin.java lacks an operation of plugin.yaml (write a public static method with its name and parameter): " + text;
        }
        return (file.startsWith(project) ? project.relativize(file) : file.getFileName()) + ":" + each.getLineNumber() + ": " + text;
    }

    private static boolean link(Path out, Path classes, List<File> path, String level, int heap) throws Exception {
        var tool = new TeaVMTool();
        Reshape.zeros.clear();
        tool.setTargetDirectory(out.toFile());
        tool.setTargetFileName("plugin.wasm");
        tool.setTargetType(TeaVMTargetType.WEBASSEMBLY_WASI);
        tool.setMainClass("AnchorExports");
        tool.setOptimizationLevel(level.equals("full") ? TeaVMOptimizationLevel.ADVANCED : TeaVMOptimizationLevel.SIMPLE);
        tool.setFastDependencyAnalysis(level.equals("quick"));
        tool.setObfuscated(false);
        tool.setStrict(true);
        tool.setMinHeapSize(1 << 20);
        tool.setMaxHeapSize(heap);
        tool.getTransformers().add(Reshape.class.getName());
        tool.setLog(new EmptyTeaVMToolLog());
        List<File> all = new ArrayList<>();
        all.add(classes.toFile());
        all.addAll(path);
        tool.setClassPath(all);
        try (var loader = new java.net.URLClassLoader(urls(all), Build.class.getClassLoader())) {
            tool.setClassLoader(loader);
            tool.generate();
        } catch (ArithmeticException e) { // TeaVM computes what is constant, and names no place
            System.err.println(Reshape.zeros.isEmpty() ? "a constant is divided by zero: look for / and % by a value that is always 0"
                : String.join("\n", Reshape.zeros));
            return false;
        }
        int shown = 0;
        for (Problem each : tool.getProblemProvider().getSevereProblems()) {
            if (shown++ < MOST_PROBLEMS) {
                System.err.println(shown(each));
            }
        }
        return shown == 0;
    }

    private static java.net.URL[] urls(List<File> files) throws Exception {
        var urls = new java.net.URL[files.size()];
        for (int i = 0; i < urls.length; i++) {
            urls[i] = files.get(i).toURI().toURL();
        }
        return urls;
    }

    private static String shown(Problem problem) {
        var text = new DefaultProblemTextConsumer();
        problem.render(text);
        CallLocation at = problem.getLocation();
        if (at == null) {
            return text.getText();
        }
        var source = at.getSourceLocation();
        String place = source != null && source.getFileName() != null ? source.getFileName() + ":" + source.getLine() : at.getMethod().toString();
        return place + ": " + text.getText();
    }
}
