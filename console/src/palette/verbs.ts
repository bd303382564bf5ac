// The verbs of the palette: what it does with a record, as in "suspend acme"; pure.

const verbs = ['add', 'look up', 'resume', 'suspend', 'test'];

/** The record that is searched for: the typed text without the verb before it. */
export function objectOf(typed: string): string {
  const text = typed.trimStart();
  const verb = verbs.find((candidate) => text.toLowerCase().startsWith(`${candidate} `));
  return verb === undefined ? typed : text.slice(verb.length).trim();
}
