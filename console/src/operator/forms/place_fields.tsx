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

export function PlaceFields({ place }: { place: Place | undefined }) {
  const [cities, setCities] = useState<readonly City[]>([]);
  const [fields, setFields] = useState({
    city: place?.city ?? '',
    country: place?.country ?? '',
    latitude: String(place?.latitude ?? ''),
    longitude: String(place?.longitude ?? ''),
  });
  /** The city whose facts are in the fields. */
  const [suggested, setSuggested] = useState<City>();
  const id = useId();
  useEffect(() => {
    // Without the list nothing is suggested, and the form works all the same.
    readCities().then(setCities, () => undefined);
  }, []);
  const change = (changes: Partial<typeof fields>) => {
    const isSuggestion =
      suggested !== undefined &&
      fields.country === suggested.country &&
      fields.latitude === String(suggested.latitude) &&
      fields.longitude === String(suggested.longitude);
    // A suggestion gives way to the next one; fields that a person has filled stay.
    const before = isSuggestion && 'city' in changes ? { ...fields, ...unplaced } : fields;
    const next = { ...before, ...changes };
    const isFree = next.latitude === '' && next.longitude === '';
    const city = isFree ? cityNamed(cities, next.city, next.country) : undefined;
    if (city && ('city' in changes || /^[A-Z]{2}$/.test(next.country))) {
      const { latitude, longitude, country } = city;
      setFields({ ...next, country, latitude: String(latitude), longitude: String(longitude) });
    } else setFields(next);
    setSuggested(city);
  };
  // The list may arrive after the city was typed.
  useEffect(() => change({ city: fields.city }), [cities]);
  const field = (name: keyof typeof fields) => ({
    name,
    required: true,
    value: fields[name],
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
