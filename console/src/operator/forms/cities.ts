// Large cities by name: where they are, as a server's form suggests it.

export interface City {
  name: string;
  /** ISO 3166. */
  country: string;
  /** In degrees, to a kilometre. */
  latitude: number;
  longitude: number;
}

/** The largest cities first; loaded when a form needs them. */
export async function readCities(): Promise<City[]> {
  const { cityList } = await import('./city_list.ts');
  return cityList
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', country = '', latitude, longitude] = line.split(';');
      return { name, country, latitude: Number(latitude), longitude: Number(longitude) };
    });
}

/** "Zurich" is Zürich. */
const plain = (name: string) => name.trim().normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** The largest city of a name; with a country, the one there. */
export const cityNamed = (cities: readonly City[], name: string, country: string) =>
  cities.find(
    (city) => plain(city.name) === plain(name) && (country === '' || city.country === country),
  );
