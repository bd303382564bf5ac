// The flags of a measurement: its sizes, as in `--rounds 5`.
import { parseArgs } from 'node:util';

/** The sizes that the command line gives, otherwise these. Errors: there is no such flag. */
export function sizesFrom<Name extends string>(usual: Record<Name, number>): Record<Name, number> {
  const options = Object.fromEntries(
    Object.keys(usual).map((name) => [name, { type: 'string' as const }]),
  );
  const { values } = parseArgs({ options });
  const sizes = Object.entries(values).map(([name, value]) => [name, Number(value)]);
  return { ...usual, ...Object.fromEntries(sizes) };
}
