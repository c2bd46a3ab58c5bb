kviz fault heal member/$filled
