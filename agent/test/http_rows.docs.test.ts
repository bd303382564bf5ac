// docs/http.md shows the HTTP table as the scenarios play it.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Deviation, httpTable } from './scenarios/http_rows.ts';

const page = readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8');

/** The outcome, with the reason as code. */
const shown = (outcome: string) => outcome.replace(/^(\d{3}) (\w+)$/, '$1 `$2`');
const cell = (deviation: Deviation | undefined) =>
  deviation ? `${shown(deviation.outcome)} (${deviation.why})` : '';

test.each(Object.entries(httpTable))('docs/http.md has the rows of: %s', (group, rows) => {
  const [, section = ''] = page.split(`\n## ${group}\n`);
  const table = (section.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('|'));
  expect(table.slice(2).join('\n')).toBe(
    rows
      .map(({ what, rule, why, embedded, squid }) =>
        [what, `${shown(rule)}${why ? ` (${why})` : ''}`, cell(embedded), cell(squid)]
          .map((text) => text.replaceAll('|', '\\|'))
          .join(' | '),
      )
      .map((line) => `| ${line} |`)
      .join('\n'),
  );
});
