// The fields of where a server is: of a large city the country and the position are suggested.
import { useEffect, useId, useState } from 'preact/hooks';
import { country as countryName } from '../../format.ts';
import { Field, TextField } from '../../ui/ui.ts';
import { type City, cityNamed, readCities } from './cities.ts';

interface Place {
  city: string;
  country: string;
  latitude: number;
  longitude: number;
}

const unplaced = { country: '', latitude: '', longitude: '' };

export function PlaceFields({ of }: { of: Place | undefined }) {
  const [cities, setCities] = useState<readonly City[]>([]);
  const [place, setPlace] = useState({
    city: of?.city ?? '',
    country: of?.country ?? '',
    latitude: String(of?.latitude ?? ''),
    longitude: String(of?.longitude ?? ''),
  });
  /** The city whose facts are in the fields. */
  const [suggested, setSuggested] = useState<City>();
  const id = useId();
  useEffect(() => {
    // Without the list nothing is suggested, and the form works all the same.
    readCities().then(setCities, () => undefined);
  }, []);
  const change = (changes: Partial<typeof place>) => {
    const isSuggestion =
      suggested !== undefined &&
      place.country === suggested.country &&
      place.latitude === String(suggested.latitude) &&
      place.longitude === String(suggested.longitude);
    // A suggestion gives way to the next one; fields that a person has filled stay.
    const before = isSuggestion && 'city' in changes ? { ...place, ...unplaced } : place;
    const next = { ...before, ...changes };
    const isFree = next.latitude === '' && next.longitude === '';
    const city = isFree ? cityNamed(cities, next.city, next.country) : undefined;
    if (city && ('city' in changes || /^[A-Z]{2}$/.test(next.country))) {
      const { latitude, longitude, country } = city;
      setPlace({ ...next, country, latitude: String(latitude), longitude: String(longitude) });
    } else setPlace(next);
    setSuggested(city);
  };
  const field = (name: keyof typeof place) => ({
    name,
    required: true,
    value: place[name],
    onInput: (event: { currentTarget: HTMLInputElement }) =>
      change({ [name]: event.currentTarget.value }),
  });
  const degrees = (name: 'latitude' | 'longitude', most: number) => ({
    ...{ ...field(name), type: 'number', step: 'any', min: -most, max: most },
  });
  return (
    <>
      <div class="fields">
        <Field label="City" name="city">
          {(given) => (
            <>
              <input
                {...{ ...given, ...field('city') }}
                type="text"
                maxLength={128}
                list={id}
                autocomplete="off"
                spellcheck={false}
              />
              <datalist id={id}>
                {cities.map(({ name, country }) => (
                  <option key={`${name} ${country}`} value={name}>
                    {countryName(country)}
                  </option>
                ))}
              </datalist>
            </>
          )}
        </Field>
        <TextField
          label="Country"
          maxLength={2}
          pattern="[A-Z][A-Z]"
          title="Two upper-case letters, such as DE"
          hint="Two upper-case letters (ISO 3166)."
          {...field('country')}
        />
      </div>
      <div class="fields">
        <TextField label="Latitude" {...degrees('latitude', 90)} />
        <TextField label="Longitude" {...degrees('longitude', 180)} />
      </div>
      <p class="note" role="status">
        {suggested &&
          `The position of ${suggested.name}, ${countryName(suggested.country)}. Change it if the server is elsewhere.`}
      </p>
    </>
  );
}
