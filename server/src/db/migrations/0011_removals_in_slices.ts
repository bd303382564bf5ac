// The eleventh schema: a row of `removed_entries` keeps many entries of a removal, as a JSON array.

/** The rows of before hold one entry each, which is no array. */
export function removalsInSlices(): string[] {
  return ['alter table removed_entries add column entries bigint not null default 1'];
}
