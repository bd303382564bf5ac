// The victim beside an attack: it asks without a break, and is timed.

/**
 * On a machine that is busy with something else, too; what is meant is that nobody waits for the
 * attack to be over.
 */
export const mostPatient_milliseconds = 5000;

export interface Served {
  answered: number;
  slowest_milliseconds: number;
}

/** Asks again and again until `attack` is over. Errors: those of `attack` and of `ask`. */
export async function servedBeside(
  attack: Promise<unknown>,
  ask: (number: number) => Promise<unknown>,
): Promise<Served> {
  let isOver = false;
  const over = attack.finally(() => {
    isOver = true;
  });
  // Its error comes when it is waited for.
  over.catch(() => {});
  const served: Served = { answered: 0, slowest_milliseconds: 0 };
  for (; !isOver; served.answered += 1) {
    const began = performance.now();
    await ask(served.answered);
    const milliseconds = performance.now() - began;
    served.slowest_milliseconds = Math.max(served.slowest_milliseconds, milliseconds);
  }
  await over;
  return served;
}
