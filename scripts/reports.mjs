// The JSON reports of vitest, as .ci/run has them written.
import { existsSync, readFileSync } from 'node:fs';

/** The results of a report, one per test file; none if the report was never written. */
export function readReport(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testResults : [];
}
