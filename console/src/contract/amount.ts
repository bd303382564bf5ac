// Bytes as operators write them: a number and a decimal unit.

const sizes = { TB: 1e12, GB: 1e9, MB: 1e6, B: 1 } as const;

export type Unit = keyof typeof sizes;
export const units = Object.keys(sizes) as Unit[];

const maxDecimals = 6;

/** Exact: 1500000000000 -> 1.5 TB, and 7 -> 7 B. */
export function amountOf(bytes: number): { amount: string; unit: Unit } {
  for (const unit of units) {
    if (bytes < sizes[unit] && unit !== 'B') continue;
    const amount = String(Number((bytes / sizes[unit]).toFixed(maxDecimals)));
    if (bytesOf(amount, unit) === bytes) return { amount, unit };
  }
  return { amount: String(bytes), unit: 'B' };
}

/** Whole bytes; undefined for a text that is not a whole number of bytes, or too many. */
export function bytesOf(amount: string, unit: string): number | undefined {
  const [, whole, decimals = ''] = /^(\d{1,16})(?:[.,](\d{1,12}))?$/.exec(amount.trim()) ?? [];
  const size = sizes[unit as Unit];
  if (whole === undefined || !size) return undefined;
  // BigInt: 1.1 * 1e12 is not 1100000000000.
  const scaled = BigInt(whole + decimals) * BigInt(size);
  const divisor = 10n ** BigInt(decimals.length);
  const bytes = Number(scaled / divisor);
  return scaled % divisor === 0n && Number.isSafeInteger(bytes) ? bytes : undefined;
}
