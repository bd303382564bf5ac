// Properties of what is asked for by tables of choices: filters, orders, callers.

import fc from 'fast-check';
import { mapValues } from '../../scripts/openapi/shapes.ts';

type Choices = Record<string, readonly unknown[]>;
type Chosen<C extends Choices> = { [Name in keyof C]?: C[Name][number] };

/** Each choice of each table by itself. */
export const byItself = <C extends Choices>(choices: C): Chosen<C>[] =>
  Object.entries(choices).flatMap(([name, values]) =>
    values.map((value) => ({ [name]: value }) as Chosen<C>),
  );

/** Each sort key, up and down. */
export const ordersBy = (sorts: readonly string[]) =>
  sorts.flatMap((sort) => ['asc', 'desc'].map((order) => ({ sort, order })));

/**
 * Whether it holds for each choice by itself, whatever the effort, and for so many combinations
 * that are drawn.
 */
export async function assertForChoices<C extends Choices>(
  choices: C,
  combinations: number,
  holds: (chosen: Chosen<C>) => Promise<void>,
): Promise<void> {
  const examples = byItself(choices).map((chosen): [Chosen<C>] => [chosen]);
  const drawn = fc.record(
    mapValues(choices, (values) => fc.constantFrom(...values)),
    { requiredKeys: [] },
  );
  await fc.assert(fc.asyncProperty(drawn as fc.Arbitrary<Chosen<C>>, holds), {
    ...{ numRuns: examples.length + combinations, examples },
  });
}

/** The query of a page with these filters and this order; those without a value are left out. */
export const queryOf = (fields: Record<string, unknown>) =>
  new URLSearchParams(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, String(value)]),
  );
