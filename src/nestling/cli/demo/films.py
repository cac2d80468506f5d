"""Films for the demonstration: name, genre, director."""

from __future__ import annotations

Film = tuple[str, str, str]

#: The three of the paper, and the one that arrives.
FIRST: list[Film] = [
    ("Drive", "Drama", "Refn"),
    ("Skyfall", "Action", "Mendes"),
    ("Rush", "Action", "Howard"),
]
JARHEAD: Film = ("Jarhead", "Drama", "Mendes")

_BY_DIRECTOR = """
Mendes: American Beauty/Drama, Road to Perdition/Crime, Revolutionary Road/Drama, Spectre/Action, 1917/War
Howard: Apollo 13/History, A Beautiful Mind/Drama, Cinderella Man/Sport, Frost Nixon/History, Willow/Fantasy
Refn: Bronson/Crime, Valhalla Rising/Adventure, Only God Forgives/Crime, Pusher/Crime
Nolan: Memento/Thriller, Insomnia/Thriller, Inception/Science Fiction, Interstellar/Science Fiction
Nolan: Dunkirk/War
Scott: Alien/Science Fiction, Blade Runner/Science Fiction, Gladiator/History, The Martian/Science Fiction
Coppola: The Godfather/Crime, The Conversation/Thriller, Apocalypse Now/War, Rumble Fish/Drama
Bigelow: Point Break/Action, Strange Days/Science Fiction, The Hurt Locker/War, Zero Dark Thirty/War
Kubrick: Paths of Glory/War, Spartacus/History, The Shining/Horror, Full Metal Jacket/War
Kubrick: Barry Lyndon/History
Hitchcock: Rear Window/Thriller, Vertigo/Thriller, Psycho/Horror, North by Northwest/Thriller
Hitchcock: The Birds/Horror
Wilder: Double Indemnity/Crime, Sunset Boulevard/Drama, Some Like It Hot/Comedy, The Apartment/Comedy
Kurosawa: Rashomon/Drama, Ikiru/Drama, Seven Samurai/Adventure, Yojimbo/Adventure, Ran/War
Miyazaki: My Neighbour Totoro/Animation, Porco Rosso/Animation, Princess Mononoke/Animation, Ponyo/Animation
Varda: Cléo from 5 to 7/Drama, Vagabond/Drama, Le Bonheur/Drama
Campion: The Piano/Drama, Bright Star/Drama, The Power of the Dog/Western
Eastwood: Unforgiven/Western, Pale Rider/Western, Mystic River/Crime, Gran Torino/Drama
Leone: A Fistful of Dollars/Western, Once Upon a Time in the West/Western, Duck You Sucker/Western
Villeneuve: Incendies/Drama, Prisoners/Thriller, Sicario/Crime, Arrival/Science Fiction, Dune/Science Fiction
Gerwig: Lady Bird/Comedy, Little Women/Drama, Barbie/Comedy
"""

#: The catalogue that is loaded: without the films above.
CATALOGUE: list[Film] = [
    (name, genre, director)
    for director, films in (line.split(": ") for line in _BY_DIRECTOR.strip().splitlines())
    for name, genre in (film.rsplit("/", 1) for film in films.split(", "))
]
