// The runner of the tests in JavaScript: one line per test; the last line counts them.
export const LIMIT = 630_000; // ms for one test; it only ends one that hangs
const count = { passed: 0, failed: 0 };

export async function test(name, run) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${LIMIT} ms`)), LIMIT);
  });
  try {
    await Promise.race([run(), limit]);
    count.passed++;
    console.log(`ok    ${name}`);
  } catch (err) {
    count.failed++;
    console.log(`FAIL  ${name}: ${err?.message ?? err}`);
  } finally {
    clearTimeout(timer);
  }
}

// finish prints the counts and ends the process.
export function finish() {
  console.log(`${count.passed} passed, ${count.failed} failed`);
  process.exit(count.failed > 0 || count.passed === 0 ? 1 : 0);
}
