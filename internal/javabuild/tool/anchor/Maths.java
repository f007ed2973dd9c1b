package anchor;

import org.teavm.backend.wasm.runtime.WasiBuffer;
import org.teavm.backend.wasm.wasi.LongResult;
import org.teavm.backend.wasm.wasi.Wasi;

/**
 * Part of a module that uses them: the functions of java.lang.Math that TeaVM takes from browsers. Their
 * results are within two units of the last place; sin, cos and tan of angles beyond a million are less exact.
 */
public final class Maths {
    private static final double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;
    private static final int MONOTONIC = 1; // a clock of WASI
    private static final double HALF_PI = Math.PI / 2, HALF_PI_LOW = 6.12323399573676603587e-17;
    // Half of pi in parts of 33 bits, so that products with small integers are exact.
    private static final double PIO2_1 = 1.57079632673412561417e+00, PIO2_2 = 6.07710050630396597660e-11, PIO2_3 = 2.02226624879595063154e-21;
    private static final double[] ATAN = {
        3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
        9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
        4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02,
    };

    private Maths() {
    }

    public static double exp(double x) {
        if (x != x || x > 709.782712893384) {
            return x != x ? x : Double.POSITIVE_INFINITY;
        } else if (x < -745.1332191019412) {
            return 0;
        }
        int k = (int) (x / (LN2_HIGH + LN2_LOW) + (x < 0 ? -0.5 : 0.5));
        double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low, t = r * r;
        double c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * (6.61375632143793436117e-05
            + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
        double y = 1 - ((low - r * c / (2 - c)) - high);
        return k >= -1000 ? k > 1000 ? y * power(k - 100) * power(100) : y * power(k) : y * power(k + 200) * power(-200);
    }

    private static double power(int of2) {
        return Double.longBitsToDouble((of2 + 1023L) << 52);
    }

    public static double log(double x) {
        if (x == 0 || x < 0 || x != x || x == Double.POSITIVE_INFINITY) {
            return x == 0 ? Double.NEGATIVE_INFINITY : x < 0 ? Double.NaN : x;
        }
        int k = 0;
        if (x < 2.2250738585072014E-308) {
            x *= 0x1p54;
            k = -54;
        }
        long bits = Double.doubleToRawLongBits(x);
        k += (int) (bits >> 52) - 1023;
        double m = Double.longBitsToDouble(bits & 0xfffffffffffffL | 0x3ff0000000000000L);
        if (m > 1.4142135623730951) {
            m /= 2;
            k++;
        }
        double f = m - 1, s = f / (2 + f), z = s * s;
        double r = z * (6.666666666666735130e-01 + z * (3.999999999940941908e-01 + z * (2.857142874366239149e-01 + z * (2.222219843214978396e-01
            + z * (1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01))))));
        double half = 0.5 * f * f;
        return k * LN2_HIGH - ((half - (s * (half + r) + k * LN2_LOW)) - f);
    }

    public static double sin(double x) {
        return turned(x, 0);
    }

    public static double cos(double x) {
        return turned(x, 1);
    }

    public static double tan(double x) {
        return x == 0 ? x : sin(x) / cos(x);
    }

    // Returns the sine of x and so many right angles.
    private static double turned(double x, int angles) {
        if (x != x || Math.abs(x) == Double.POSITIVE_INFINITY) {
            return Double.NaN;
        } else if (Math.abs(x) > 1e6) {
            x %= 2 * Math.PI;
        } else if (x == 0 && angles == 0) {
            return x;
        }
        int n = (int) (x / HALF_PI + (x < 0 ? -0.5 : 0.5));
        double high = x - n * PIO2_1, w = n * PIO2_2, r = high - w;
        double low = n * PIO2_3 - ((high - r) - w);
        double y = r - low, rest = (r - y) - low;
        switch (n + angles & 3) {
            case 0:
                return sine(y, rest);
            case 1:
                return cosine(y, rest);
            case 2:
                return -sine(y, rest);
            default:
                return -cosine(y, rest);
        }
    }

    private static double sine(double x, double rest) {
        double z = x * x, v = z * x;
        double r = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06
            + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
        return x - ((z * (0.5 * rest - v * r) - rest) - v * -1.66666666666666324348e-01);
    }

    private static double cosine(double x, double rest) {
        double z = x * x;
        double r = z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05
            + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
        double half = 0.5 * z, w = 1 - half;
        return w + (((1 - w) - half) + (z * r - x * rest));
    }

    public static double atan(double x) {
        double a = Math.abs(x);
        if (x != x || a > 0x1p66) {
            return x != x ? x : x > 0 ? HALF_PI : -HALF_PI;
        }
        double high = 0, low = 0, t = a;
        if (a >= 2.4375) {
            high = HALF_PI;
            low = HALF_PI_LOW;
            t = -1 / a;
        } else if (a >= 1.1875) {
            high = 9.82793723247329054082e-01;
            low = 1.39033110312309984516e-17;
            t = (a - 1.5) / (1 + 1.5 * a);
        } else if (a >= 0.6875) {
            high = 7.85398163397448278999e-01;
            low = 3.06161699786838301793e-17;
            t = (a - 1) / (1 + a);
        } else if (a >= 0.4375) {
            high = 4.63647609000806093515e-01;
            low = 2.26987774529616870924e-17;
            t = (2 * a - 1) / (2 + a);
        }
        double z = t * t, s = 0;
        for (int i = ATAN.length - 1; i >= 0; i--) {
            s = z * (ATAN[i] + s);
        }
        double y = high == 0 ? t - t * s : high - ((t * s - low) - t);
        return x < 0 || 1 / x < 0 ? -y : y;
    }

    public static double atan2(double y, double x) {
        if (x != x || y != y) {
            return Double.NaN;
        }
        boolean left = x < 0 || x == 0 && 1 / x < 0, below = y < 0 || y == 0 && 1 / y < 0;
        double a;
        if (y == 0) {
            a = 0;
        } else if (Math.abs(x) == Double.POSITIVE_INFINITY && Math.abs(y) == Double.POSITIVE_INFINITY) {
            a = Math.PI / 4;
        } else {
            a = x == 0 ? HALF_PI : atan(Math.abs(y / x));
        }
        a = left ? Math.PI - (a - 2 * HALF_PI_LOW) : a;
        return below ? -a : a;
    }

    public static double asin(double x) {
        return x == 0 ? x : Math.abs(x) > 1 ? Double.NaN : atan2(x, Math.sqrt((1 - x) * (1 + x)));
    }

    public static double acos(double x) {
        return Math.abs(x) > 1 ? Double.NaN : atan2(Math.sqrt((1 - x) * (1 + x)), x);
    }

    /** Returns the milliseconds of a clock that runs evenly. */
    public static double nanoTimeWasm() {
        LongResult result = WasiBuffer.getBuffer().toStructure();
        Wasi.clockTimeGet(MONOTONIC, 10, result);
        return result.value / 1e6;
    }

    /** Returns how far local time is from UTC: times of the host are in UTC. */
    public static int getNativeOffset(double instant) {
        return 0;
    }
}
