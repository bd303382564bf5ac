// The places of the network in addresses and queries: latitude and longitude, as the server wants.
import type { ResponseOf } from '../api/api.ts';
import { cityName, count } from '../format.ts';

export type Place = ResponseOf<'admin_list_server_places'>[number];

export const placeText = ({ latitude, longitude }: Pick<Place, 'latitude' | 'longitude'>) =>
  `${latitude},${longitude}`;

/** Several places, each once. */
export const placesText = (texts: readonly string[]) => [...new Set(texts)].join(';');

/** The name of a single place, or the number of places. */
export function placesName(selected: string, places: readonly Place[]): string {
  const texts = selected.split(';');
  const place = places.find((candidate) => placeText(candidate) === texts[0]);
  if (texts.length === 1 && place) return cityName(place);
  return count(texts.length, 'place');
}
