import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;

/** One JSON object a line on stdout, for the test that has started the program. */
final class Report {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long TIMEOUT_MS = 30_000;

    private Report() {}

    static void step(String name, Map<String, ?> facts) {
        Map<String, Object> event = new LinkedHashMap<>();
        event.put("name", name);
        event.putAll(facts);
        try {
            System.out.println(JSON.writeValueAsString(event));
        } catch (JsonProcessingException problem) {
            throw new IllegalStateException(problem);
        }
    }

    /** The name of the error that a call ends with, or "none". */
    static String errorOf(Callable<?> call) {
        try {
            call.call();
            return "none";
        } catch (ExecutionException problem) {
            return problem.getCause().getClass().getSimpleName();
        } catch (Exception problem) {
            return problem.getClass().getSimpleName();
        }
    }

    static void await(String what, BooleanSupplier condition) {
        long deadline = System.currentTimeMillis() + TIMEOUT_MS;
        while (!condition.getAsBoolean()) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("not in time: " + what);
            }
        }
    }
}
