// The names of countries, for searches.

const letters = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ');

/** The lower-case names of all codes, built on first use. */
let countryNames: Array<[code: string, name: string]> | undefined;

/** The ISO 3166-1 codes of the countries whose English name contains the text. */
export function countriesNamed(text: string): string[] {
  countryNames ??= allNames();
  const wanted = text.toLowerCase();
  return countryNames.flatMap(([code, name]) => (name.includes(wanted) ? code : []));
}

function allNames(): Array<[code: string, name: string]> {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  return letters.flatMap((first) =>
    letters.flatMap((second): Array<[string, string]> => {
      const name = names.of(first + second)?.toLowerCase();
      return name === undefined ? [] : [[first + second, name]];
    }),
  );
}
