// The body of a change: only the fields that differ, since another user may be changing the rest.

/** The fields of `wanted` that are set and differ from `before`. */
export function differing<T extends object>(
  before: T,
  wanted: { [K in keyof T]?: T[K] | undefined },
): Partial<T> {
  const names = Object.keys(before) as Array<keyof T>;
  const changed = names.filter(
    (name) =>
      wanted[name] !== undefined && JSON.stringify(wanted[name]) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed.map((name) => [name, wanted[name]])) as Partial<T>;
}
