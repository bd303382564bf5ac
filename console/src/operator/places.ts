// The places of the network in addresses and queries: latitude and longitude of each, as the server takes them.
import type { ResponseOf } from '../api/api.ts';
import { count, country } from '../format.ts';

export type Place = ResponseOf<'admin_list_server_places'>[number];

export const placeText = ({ latitude, longitude }: Pick<Place, 'latitude' | 'longitude'>) =>
  `${latitude},${longitude}`;

/** Several of them, each once. */
export const placesText = (texts: readonly string[]) => [...new Set(texts)].join(';');

/** For people: the only place by its name, several by their number. */
export function placesName(chosen: string, places: readonly Place[]): string {
  const texts = chosen.split(';');
  const place = places.find((one) => placeText(one) === texts[0]);
  if (texts.length === 1 && place) return `${place.city}, ${country(place.country)}`;
  return count(texts.length, 'place');
}
