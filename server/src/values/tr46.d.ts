// The one function that we use of tr46, which ships no types.
declare module 'tr46' {
  export function toASCII(
    domainName: string,
    options?: { checkBidi?: boolean; checkJoiners?: boolean },
  ): string | null;
}
