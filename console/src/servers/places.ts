// The places of the network, for the map and the filters of the list; pure.
import type { AccountResponse } from '../api/reading.ts';
import { cityName, count, country } from '../format.ts';
import type { MarkTone } from '../map/mark.tsx';
import type { MapPoint } from '../map/world_map.tsx';
import { type State, states, toneOf } from './rows.ts';

export type ServerPlace = AccountResponse<'list_network_places'>[number];

const allStates = Object.keys(states) as State[];

/** The key of a place in the server's filter. */
export const keyOf = ({ country, city }: Pick<ServerPlace, 'country' | 'city'>) =>
  `${country} ${city}`;

/** Several places in a filter, each once. */
export const keysText = (keys: readonly string[]) => [...new Set(keys)].sort().join('|');

const sumOf = (places: readonly ServerPlace[], manyOf: (place: ServerPlace) => number) =>
  places.reduce((sum, place) => sum + manyOf(place), 0);

/** The numbers of servers on the contract, by their state, and of the others. */
export function countsOf(places: readonly ServerPlace[]) {
  const all = sumOf(places, ({ servers }) => servers);
  const others = sumOf(places, (place) => place.states.others);
  const contractPlaces = places.filter((place) => place.servers > place.states.others);
  return {
    ...{ all, others, contract: all - others },
    countries: new Set(contractPlaces.map((place) => place.country)).size,
    byState: allStates
      .map((state) => ({ state, many: sumOf(contractPlaces, (place) => place.states[state]) }))
      .filter(({ many }) => many > 0),
  };
}

/** The name of the selected place, or the number of places. */
export function placesName(selected: string, places: readonly ServerPlace[]): string {
  const keys = selected.split('|');
  const only = places.find((place) => keyOf(place) === keys[0]);
  if (keys.length === 1 && only) return cityName(only);
  return count(keys.length, 'place');
}

export function pointOf(place: ServerPlace, isSelected: boolean): MapPoint {
  const { city, servers, states: many, server } = place;
  const counts = new Map<MarkTone, number>([['faint', many.others]]);
  for (const state of allStates) {
    const tone = toneOf[state];
    counts.set(tone, (counts.get(tone) ?? 0) + many[state]);
  }
  const contractServers = servers - many.others;
  const worst = (['bad', 'warn', 'neutral', 'good'] as const).find((tone) => counts.get(tone));
  const standing = allStates
    .filter((state) => many[state] > 0)
    .map((state) => (contractServers === 1 ? states[state] : `${many[state]} ${states[state]}`));
  if (many.others > 0) {
    standing.push(
      `${contractServers + many.others === 1 ? '' : `${many.others} `}not on the contract`,
    );
  }
  return {
    id: keyOf(place),
    name: server ?? city,
    text: [server === null ? country(place.country) : cityName(place), ...standing]
      .filter(Boolean)
      .join(', '),
    longitude: place.longitude,
    latitude: place.latitude,
    tone: worst ?? 'faint',
    counts,
    // Ten servers look larger than one, but not ten times.
    size: worst ? Math.min(7.5, 5 + Math.sqrt(contractServers) * 0.5) : 3.5,
    selected: isSelected,
  };
}
