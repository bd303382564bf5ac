// Large cities, the largest first: name, country, latitude, longitude. From the populated places of
// Natural Earth (public domain).
export const cityList = `
Tokyo;JP;35.69;139.75
Mumbai;IN;19.02;72.86
Mexico City;MX;19.44;-99.13
Shanghai;CN;31.22;121.44
Sao Paulo;BR;-23.56;-46.63
New York;US;40.75;-73.98
Karachi;PK;24.87;66.99
Buenos Aires;AR;-34.6;-58.4
Delhi;IN;28.67;77.23
Moscow;RU;55.75;37.62
Istanbul;TR;41.1;29.01
Dhaka;BD;23.72;90.41
Cairo;EG;30.05;31.25
Seoul;KR;37.57;127
Kolkata;IN;22.49;88.32
Beijing;CN;39.93;116.39
Jakarta;ID;-6.17;106.83
Los Angeles;US;33.99;-118.18
London;GB;51.5;-0.12
Tehran;IR;35.67;51.42
Lima;PE;-12.05;-77.05
Manila;PH;14.6;120.98
Bogota;CO;4.6;-74.08
Osaka;JP;34.75;135.46
Rio de Janeiro;BR;-22.93;-43.23
Kinshasa;CD;-4.33;15.31
Lahore;PK;31.56;74.35
Guangzhou;CN;23.14;113.33
Bengaluru;IN;12.97;77.56
Chicago;US;41.83;-87.75
Bangkok;TH;13.75;100.52
Hong Kong;HK;22.3;114.19
Chennai;IN;13.09;80.28
Wuhan;CN;30.58;114.27
Tianjin;CN;39.13;117.2
Sydney;AU;-33.92;151.19
Chongqing;CN;29.56;106.59
Baghdad;IQ;33.34;44.39
Hyderabad;IN;17.4;78.48
Paris;FR;48.87;2.33
Melbourne;AU;-37.82;144.98
Taipei;TW;25.04;121.57
Lagos;NG;6.44;3.39
Toronto;CA;43.7;-79.42
Ahmedabad;IN;23.03;72.58
Dongguan;CN;23.05;113.74
Ho Chi Minh City;VN;10.78;106.7
Riyadh;SA;24.64;46.77
Shenzhen;CN;22.55;114.12
Singapore;SG;1.29;103.86
Chittagong;BD;22.33;91.8
Shenyeng;CN;41.8;123.45
Houston;US;29.82;-95.34
Chengdu;CN;30.67;104.07
St. Petersburg;RU;59.94;30.32
Alexandria;EG;31.2;29.95
Belo Horizonte;BR;-19.92;-43.92
Pune;IN;18.53;73.85
Yokohama;JP;35.32;139.58
Rangoon;MM;16.78;96.17
Xian;CN;34.28;108.89
Luanda;AO;-8.84;13.23
Ankara;TR;39.93;32.86
Philadelphia;US;40;-75.17
Abidjan;CI;5.32;-4.04
Busan;KR;35.1;129.01
Harbin;CN;45.75;126.65
Nanjing;CN;32.05;118.78
Surat;IN;21.2;72.84
Khartoum;SD;15.59;32.53
Hechi;CN;23.1;109.61
Barcelona;ES;41.38;2.18
Berlin;DE;52.52;13.4
Casablanca;MA;33.6;-7.62
Kabul;AF;34.52;69.18
Kano;NG;12;8.52
Brasilia;BR;-15.78;-47.92
Salvador;BR;-12.97;-38.48
Montréal;CA;45.5;-73.58
Dallas;US;32.82;-96.84
Kanpur;IN;26.46;80.32
Miami;US;25.79;-80.22
Fortaleza;BR;-3.75;-38.58
Jeddah;SA;21.52;39.22
Haora;IN;22.58;88.33
Addis Ababa;ET;9.03;38.7
Guadalajara;MX;20.67;-103.33
Hanoi;VN;21.03;105.85
Pyongyang;KP;39.02;125.75
Santiago;CL;-33.45;-70.67
Nairobi;KE;-1.28;36.82
Changchun;CN;43.87;125.34
Cape Town;ZA;-33.92;18.43
New Taipei;TW;25.01;121.47
Taiyuan;CN;37.88;112.55
Jaipur;IN;26.92;75.81
Dar es Salaam;TZ;-6.8;39.27
Madrid;ES;40.4;-3.68
Quezon City;PH;14.65;121.03
Johannesburg;ZA;-26.17;28.03
Durban;ZA;-29.87;30.98
Nagoya;JP;35.15;136.91
El Giza;EG;30.01;31.19
Algiers;DZ;36.76;3.05
Medellin;CO;6.28;-75.58
Porto Alegre;BR;-30.05;-51.2
Surabaya;ID;-7.25;112.75
Dalian;CN;38.92;121.63
Lucknow;IN;26.86;80.91
Recife;BR;-8.08;-34.92
Faisalabad;PK;31.41;73.11
Incheon;KR;37.48;126.64
Dakar;SN;14.72;-17.47
Boston;US;42.33;-71.07
Detroit;US;42.33;-83.08
Damascus;SY;33.5;36.3
Atlanta;US;33.83;-84.4
Daegu;KR;35.87;128.61
Izmir;TR;38.44;27.15
Washington, D.C.;US;38.9;-77.01
Hangzhou;CN;30.25;120.17
Phoenix;US;33.54;-112.07
Zhangzhou;CN;24.52;117.67
Jinan;CN;36.67;117
Monterrey;MX;25.67;-100.33
Guiyang;CN;26.58;106.72
Caracas;VE;10.5;-66.92
Nagpur;IN;21.17;79.09
Changsha;CN;28.2;112.97
Zhengzhou;CN;34.75;113.67
Mashhad;IR;36.27;59.57
Curitiba;BR;-25.42;-49.32
Omdurman;SD;15.62;32.48
Lanzhou;CN;36.06;103.79
Qingdao;CN;36.09;120.33
Guayaquil;EC;-2.22;-79.92
Ibadan;NG;7.38;3.93
Cali;CO;3.4;-76.5
Shijianzhuang;CN;38.05;114.48
Sapporo;JP;43.07;141.34
Kyiv;UA;50.43;30.52
Xiangtan;CN;27.85;112.9
Nanchong;CN;30.78;106.13
Aleppo;SY;36.23;37.17
Kaohsiung;TW;22.63;120.27
Jilin;CN;43.85;126.55
Milan;IT;45.47;9.21
Nanchang;CN;28.68;115.88
Fukuoka;JP;33.6;130.41
San Francisco;US;37.74;-122.46
Havana;CU;23.13;-82.36
Tashkent;UZ;41.31;69.29
Vienna;AT;48.2;16.37
Bandung;ID;-6.95;107.57
Accra;GH;5.55;-0.22
Baku;AZ;40.4;49.86
Athens;GR;37.98;23.73
Kunming;CN;25.07;102.68
Suzhou;CN;33.64;116.98
Bekasi;ID;-6.22;106.97
San Diego;US;32.82;-117.18
Medan;ID;3.58;98.65
Indore;IN;22.72;75.87
Denver;US;39.74;-104.98
Sanaa;YE;15.35;44.21
Campinas;BR;-22.9;-47.1
Fuzhou;CN;26.08;119.3
Patna;IN;25.62;85.13
Zibo;CN;36.8;118.05
Saidu;PK;34.75;72.35
Santa Cruz;BO;-17.75;-63.23
Bucharest;RO;44.43;26.1
Taichung;TW;24.15;120.68
Urumqi;CN;43.81;87.58
Seattle;US;47.57;-122.34
Rawalpindi;PK;33.6;73.04
Benoni;ZA;-26.15;28.33
Puebla;MX;19.05;-98.2
Belem;BR;-1.45;-48.48
Frankfurt;DE;50.1;8.68
Beirut;LB;33.87;35.51
Stuttgart;DE;48.78;9.2
Shuyang;CN;34.13;118.77
Maracaibo;VE;10.73;-71.66
Hamburg;DE;53.55;10
Tel Aviv-Yafo;IL;32.08;34.77
Tangshan;CN;39.62;118.19
Hefei;CN;31.85;117.28
Warsaw;PL;52.25;21
Minsk;BY;53.9;27.57
Rome;IT;41.9;12.48
Rabat;MA;34.03;-6.84
Wanzhou;CN;30.82;108.4
Budapest;HU;47.5;19.08
Lisbon;PT;38.72;-9.14
Bhopal;IN;23.25;77.41
Xuzhou;CN;34.28;117.18
Sendai;JP;38.29;141.02
Manaus;BR;-3.1;-60
Birmingham;GB;52.47;-1.92
Kyoto;JP;35.03;135.75
Taian;CN;36.2;117.12
Douala;CM;4.06;9.71
Naples;IT;40.84;14.25
Port-au-Prince;HT;18.54;-72.34
Irvine;US;33.68;-117.83
George Town;MY;5.41;100.33
Wenzhou;CN;28.02;120.65
Haikou;CN;20.05;110.32
Ludhiana;IN;30.93;75.87
Goiania;BR;-16.72;-49.3
Palembang;ID;-2.98;104.75
Hiroshima;JP;34.39;132.44
Vadodara;IN;22.31;73.18
Kalyan;IN;19.25;73.16
Isfahan;IR;32.7;51.7
Tunis;TN;36.8;10.18
Valencia;VE;10.23;-67.98
Harare;ZW;-17.82;31.04
Luoyang;CN;34.68;112.47
Quito;EC;-0.21;-78.5
Xiamen;CN;24.45;118.08
Antananarivo;MG;-18.92;47.52
Luzhou;CN;28.88;105.38
Pittsburgh;US;40.43;-80
Kobe;JP;34.68;135.17
Katowice;PL;50.26;19.02
Barranquilla;CO;10.96;-74.8
Agra;IN;27.17;78.02
Handan;CN;36.58;114.48
Conakry;GN;9.53;-13.68
Minneapolis;US;44.98;-93.25
Nanning;CN;22.82;108.32
Multan;PK;30.2;71.46
Santiago;DO;19.5;-70.67
Kumasi;GH;6.69;-1.63
Shantou;CN;23.37;116.67
Phnom Penh;KH;11.55;104.92
Tijuana;MX;32.5;-117.08
Datong;CN;40.08;113.3
Vancouver;CA;49.27;-123.12
Daejeon;KR;36.34;127.43
Gujranwala;PK;32.16;74.19
Kuala Lumpur;MY;3.17;101.7
Khulna;BD;22.84;89.56
San Juan;PR;18.44;-66.13
Liuzhou;CN;24.28;109.25
Fushun;CN;41.87;123.87
Baltimore;US;39.3;-76.62
Wuxi;CN;31.58;120.3
Gwangju;KR;35.17;126.91
Bursa;TR;40.2;29.07
Suining;CN;30.53;105.53
Karaj;IR;35.8;50.97
Hyderabad;PK;25.38;68.37
Anshan;CN;41.12;122.94
Yantai;CN;37.53;121.4
Xinyang;CN;32.13;114.07
Ad Damman;SA;26.43;50.1
Luan;CN;31.75;116.48
Bamako;ML;12.65;-8
Faridabad;IN;28.43;77.32
Brisbane;AU;-27.46;153.04
Kampala;UG;0.32;32.58
Nasik;IN;20;73.78
Brussels;BE;50.83;4.33
Córdoba;AR;-31.4;-64.18
Kawasaki;JP;35.53;139.71
Jinxi;CN;40.75;120.83
San Antonio;US;29.49;-98.51
Makkah;SA;21.43;39.82
Ciudad Juárez;MX;31.69;-106.49
Semarang;ID;-6.97;110.42
Kharkiv;UA;50;36.25
Pretoria;ZA;-25.71;28.23
Mannheim;DE;49.5;8.47
Yaounde;CM;3.87;11.52
Asansol;IN;23.68;86.98
Coimbatore;IN;11;76.95
Ningbo;CN;29.88;121.55
Tampa;US;27.95;-82.46
Tainan;TW;23;120.2
Maputo;MZ;-25.96;32.59
Manchester;GB;53.5;-2.25
Meerut;IN;29;77.7
Davao;PH;7.11;125.63
Tabriz;IR;38.09;46.3
Leon;MX;21.15;-101.7
Lusaka;ZM;-15.42;28.28
Vishakhapatnam;IN;17.73;83.3
Haiphong;VN;20.83;106.68
San Jose;US;37.3;-121.85
Yekaterinburg;RU;56.85;60.6
Ghaziabad;IN;28.66;77.41
Munich;DE;48.13;11.57
Ujungpandang;ID;-5.14;119.43
Qiqihar;CN;47.34;123.99
Peshawar;PK;34.01;71.54
St. Louis;US;38.64;-90.24
Brazzaville;CG;-4.26;15.28
Stockholm;SE;59.35;18.1
Turin;IT;45.07;7.67
Varanasi;IN;25.33;83
Dubai;AE;25.23;55.28
Hohhot;CN;40.82;111.66
Long Beach;US;33.79;-118.16
Nizhny Novgorod;RU;56.33;44
Adana;TR;36.99;35.32
Shiraz;IR;29.63;52.57
Huainan;CN;32.63;116.98
Baotou;CN;40.65;109.82
Mosul;IQ;36.35;43.15
Maoming;CN;21.92;110.87
Ganzhou;CN;25.92;114.95
Novosibirsk;RU;55.03;82.96
Tripoli;LY;32.89;13.18
Portland;US;45.52;-122.68
Perth;AU;-31.96;115.84
La Paz;BO;-16.5;-68.15
Kaduna;NG;10.52;7.44
Rajkot;IN;22.31;70.8
Linyi;CN;35.08;118.33
Cilacap;ID;-7.72;109.02
Cleveland;US;41.47;-81.69
Mandalay;MM;21.97;96.09
Zaozhuang;CN;34.88;117.57
Essen;DE;51.45;7.02
Jabalpur;IN;23.18;79.96
Amritsar;IN;31.64;74.87
Las Vegas;US;36.21;-115.22
Changzhou;CN;31.78;119.97
Prayagraj;IN;25.45;81.84
Xianyang;CN;34.35;108.71
Lubumbashi;CD;-11.68;27.48
Zhanjiang;CN;21.2;110.38
Indianapolis;US;39.75;-86.17
Fort Lauderdale;US;26.14;-80.14
Madurai;IN;9.92;78.12
Lome;TG;6.13;1.22
Belgrade;RS;44.82;20.47
Nanyang;CN;33;112.53
Yerevan;AM;40.18;44.51
Marseille;FR;43.29;5.38
Bhilai;IN;21.22;81.43
Almaty;KZ;43.32;76.92
Rosario;AR;-32.95;-60.67
Ft. Worth;US;32.74;-97.34
Doha;QA;25.29;51.53
Omsk;RU;54.99;73.4
København;DK;55.68;12.56
Mbuji-Mayi;CD;-6.15;23.6
Changwon;KR;35.22;128.58
Santo Domingo;DO;18.47;-69.9
Suwon;KR;37.26;127.01
Chhatrapati Sambhajinagar;IN;19.9;75.32
Kochi;IN;10.02;76.22
Kuwait;KW;29.37;47.98
Santos;BR;-23.95;-46.33
Amman;JO;31.95;35.93
Srinagar;IN;34.1;74.82
Tbilisi;GE;41.73;44.79
Baoding;CN;38.87;115.48
Sacramento;US;38.58;-121.47
Warangal;IN;18.01;79.58
Rostov;RU;47.23;39.71
Abbottabad;PK;34.15;73.2
Sofia;BG;42.68;23.32
Ankang;CN;32.68;109.02
Zhuhai;CN;22.28;113.57
Port Harcourt;NG;4.81;7.01
Chelyabinsk;RU;55.15;61.44
Toluca;MX;19.33;-99.67
Dublin;IE;53.33;-6.25
Kazan;RU;55.75;49.13
Calgary;CA;51.08;-114.08
Ulsan;KR;35.55;129.32
Medina;SA;24.5;39.58
Guatemala;GT;14.62;-90.53
Sholapur;IN;17.67;75.9
Vitória;BR;-20.32;-40.37
Maracay;VE;10.25;-67.6
Neijiang;CN;29.58;105.05
Vijayawada;IN;16.52;80.63
Columbus;US;39.98;-82.99
Zhongli;TW;24.97;121.22
Maceio;BR;-9.62;-35.73
Maanshan;CN;31.73;118.48
Samara;RU;53.2;50.15
Niteroi;BR;-22.9;-43.1
Changde;CN;29.03;111.68
Ouagadougou;BF;12.37;-1.52
Leeds;GB;53.83;-1.58
Adelaide;AU;-34.93;138.6
Kitakyushu;JP;33.87;130.82
Mogadishu;SO;2.07;45.37
Songnam;KR;37.44;127.14
Huambo;AO;-12.75;15.76
Cologne;DE;50.93;6.95
Milwaukee;US;43.05;-87.92
Fez;MA;34.05;-5
Yichun;CN;27.83;114.4
Natal;BR;-6.98;-60.27
Ottawa;CA;45.42;-75.7
Weifang;CN;36.72;119.1
San Bernardino;US;34.12;-117.3
Cincinnati;US;39.16;-84.46
Ufa;RU;54.79;56.04
Shangqiu;CN;34.45;115.65
Barquisimeto;VE;10.05;-69.3
Xinyi;CN;34.38;118.35
Jodhpur;IN;26.29;73.02
Jamshedpur;IN;22.79;86.2
Seville;ES;37.41;-5.98
Kansas City;US;39.11;-94.6
Mudangiang;CN;44.58;129.59
The Hague;NL;52.08;4.27
Oakland;US;37.77;-122.22
Sharjah;AE;25.37;55.41
Dnipropetrovsk;UA;48.48;35
Daqing;CN;46.58;125
Lyon;FR;45.77;4.83
Chandigarh;IN;30.72;76.78
Ranchi;IN;23.37;85.33
Charlotte;US;35.2;-80.83
Da Nang;VN;16.06;108.25
Gaziantep;TR;37.07;37.38
Asuncion;PY;-25.3;-57.64
Jianmen;CN;30.65;113.16
Florence;IT;43.78;11.25
Qom;IR;34.65;50.95
Gwalior;IN;26.23;78.18
Nezahualcoyotl;MX;19.41;-99.03
Benin City;NG;6.34;5.62
Baoshan;CN;25.12;99.15
Perm;RU;58;56.25
Benxi;CN;41.33;123.75
Sheffield;GB;53.37;-1.5
Shangrao;CN;28.47;117.97
Managua;NI;12.15;-86.27
Austin;US;30.27;-97.74
Ahvaz;IR;31.28;48.72
Kelang;MY;3.02;101.55
Jerusalem;IL;31.78;35.21
Monrovia;LR;6.31;-10.8
Huaiyin;CN;33.58;119.03
Huaibei;CN;33.95;116.75
Xining;CN;36.62;101.77
Düsseldorf;DE;51.22;6.78
Jacksonville;US;30.33;-81.67
Goyang;KR;37.65;126.84
Ikare;NG;7.53;5.76
Tegucigalpa;HN;14.1;-87.22
Xiantao;CN;30.37;113.44
Zigong;CN;29.4;104.78
Kathmandu;NP;27.72;85.32
Zhuzhou;CN;27.83;113.15
Hims;SY;34.73;36.72
Hengyang;CN;26.88;112.59
Hamamatsu;JP;34.72;137.73
Cartagena;CO;10.4;-75.51
Amsterdam;NL;52.35;4.92
Lupanshui;CN;26.59;104.83
Edmonton;CA;53.55;-113.5
Glasgow;GB;55.87;-4.25
Dushanbe;TJ;38.56;68.77
Duisburg;DE;51.43;6.75
Zhucheng;CN;35.99;119.38
Bandar Lampung;ID;-5.45;105.3
Qinhuangdao;CN;39.93;119.62
Banghazi;LY;32.12;20.07
Mysuru;IN;12.31;76.66
Virginia Beach;US;36.85;-75.98
Aba;NG;5.1;7.35
Donetsk;UA;48;37.83
Kaifeng;CN;34.85;114.35
Basra;IQ;30.51;47.81
Thiruvananthapuram;IN;8.5;76.95
Abuja;NG;9.08;7.53
Xuanzhou;CN;30.95;118.76
Puch'on;KR;37.5;126.78
Tiruchirappalli;IN;10.81;78.69
Cagayan de Oro;PH;8.45;124.69
Bogor;ID;-6.57;106.75
Marrakesh;MA;31.63;-8
Yangquan;CN;37.87;113.57
Pingdingshan;CN;33.73;113.3
Padang;ID;-0.96;100.36
Odessa;UA;46.49;30.71
Panama City;PA;8.97;-79.53
Nova Iguacu;BR;-22.74;-43.47
Az Zarqa;JO;32.07;36.1
Duque de Caxias;BR;-22.77;-43.31
Hubballi;IN;15.36;75.13
Merida;MX;20.97;-89.62
Mombasa;KE;-4.04;39.69
Yancheng;CN;33.39;120.13
Johor Bahru;MY;1.48;103.73
Helsinki;FI;60.18;24.93
Ndjamena;TD;12.11;15.05
San Luis Potosi;MX;22.17;-101
Anyang;CN;36.08;114.35
Torreon;MX;25.57;-103.42
Port Elizabeth;ZA;-33.97;25.6
Mianyang;CN;31.47;104.77
Niamey;NE;13.52;2.12
Kermanshah;IR;34.38;47.06
Mendoza;AR;-32.88;-68.82
Ulaanbaatar;MN;47.92;106.92
Yueyang;CN;29.38;113.1
Salem;IN;11.67;78.18
Quanzhou;CN;24.9;118.58
Xinxiang;CN;35.32;113.87
Bishkek;KG;42.87;74.59
Jullundur;IN;31.33;75.57
Guilin;CN;25.28;110.28
Jining;CN;35.4;116.55
Newcastle;AU;-32.85;151.82
Saratov;RU;51.58;46.03
Chifeng;CN;42.27;118.95
Cebu;PH;10.32;123.9
Valencia;ES;39.49;-0.4
Nantong;CN;32.03;120.83
Lingyuan;CN;41.24;119.4
Cochabamba;BO;-17.41;-66.17
Joao Pessoa;BR;-7.1;-34.88
Bhubaneshwar;IN;20.27;85.83
Zhangjiakou;CN;40.83;114.93
Kigali;RW;-1.95;30.06
Volgograd;RU;48.71;44.5
Rotterdam;NL;51.92;4.48
Kingston;JM;17.98;-76.77
Baoji;CN;34.38;107.15
Heze;CN;35.23;115.45
Irbil;IQ;36.18;44.01
Kota;IN;25.18;75.83
Porto;PT;41.15;-8.62
Nampo;KP;38.77;125.45
Bucaramanga;CO;7.13;-73.13
Raleigh;US;35.82;-78.64
Queretaro;MX;20.63;-100.38
Callao;PE;-12.07;-77.13
Foshan;CN;23.03;113.12
Jiamusi;CN;46.83;130.35
Bareilly;IN;28.35;79.42
Jinzhou;CN;41.12;121.1
Aligarh;IN;27.89;78.06
Orlando;US;28.51;-81.38
Atal Nagar;IN;21.23;81.64
Yiyang;CN;28.6;112.33
Malang;ID;-7.98;112.61
Arequipa;PE;-16.42;-71.53
Aden;YE;12.78;45.01
Vereeniging;ZA;-26.65;27.96
Fuyang;CN;30.05;119.95
Palermo;IT;38.13;13.35
Xiangfan;CN;32.02;112.13
Aguascalientes;MX;21.88;-102.29
Djibouti;DJ;11.6;43.15
Mesa;US;33.42;-111.74
Lvov;UA;49.83;24.03
Auckland;NZ;-36.85;174.76
Montevideo;UY;-34.86;-56.17
Lódz;PL;51.77;19.45
Kraków;PL;50.06;19.96
Rajshahi;BD;24.37;88.61
Zaria;NG;11.08;7.71
Moradabad;IN;28.84;78.76
Memphis;US;35.12;-90
Okayama;JP;34.67;133.92
Agadir;MA;30.44;-9.62
Yangjiang;CN;21.85;111.97
Bhiwandi;IN;19.35;73.13
Dandong;CN;40.14;124.39
Quetta;PK;30.22;67.02
Chihuahua;MX;28.64;-106.08
Teresina;BR;-5.1;-42.78
General Santos;PH;6.11;125.17
Zhenjiang;CN;32.22;119.43
Vila Velha;BR;3.22;-51.22
Liaoyang;CN;41.28;123.18
Jos;NG;9.93;8.89
Mexicali;MX;32.65;-115.48
Bengbu;CN;32.95;117.33
Dhanbad;IN;23.8;86.42
Bacolod;PH;10.63;122.98
Fuxin;CN;42.01;121.66
Bangui;CF;4.37;18.56
Jiaxing;CN;30.77;120.75
Cotonou;BJ;6.4;2.52
Albuquerque;US;35.1;-106.64
Zürich;CH;47.38;8.55
Riga;LV;56.95;24.1
Oran;DZ;35.71;-0.62
Cucuta;CO;7.92;-72.52
Cheongju;KR;36.64;127.5
Tangier;MA;35.75;-5.83
Konya;TR;37.88;32.48
San Salvador;SV;13.71;-89.2
Geneva;CH;46.21;6.14
Lianyungang;CN;34.6;119.17
Oslo;NO;59.92;10.75
Sarajevo;BA;43.85;18.38
Chisinau;MD;47.01;28.86
Tirana;AL;41.33;19.82
Buffalo;US;42.88;-78.88
San Jose;CR;9.94;-84.08
Nürnberg;DE;49.45;11.08
Cardiff;GB;51.5;-3.23
Honolulu;US;21.31;-157.86
Québec;CA;46.84;-71.25
Salt Lake City;US;40.78;-111.93
Vilnius;LT;54.68;25.32
Basel;CH;47.58;7.59
Skopje;MK;42;21.43
Edinburgh;GB;55.95;-3.22
Bratislava;SK;48.15;17.12
Port Louis;MU;-20.17;57.5
Tallinn;EE;59.43;24.73
Manama;BH;26.24;50.58
Strasbourg;FR;48.58;7.75
Wellington;NZ;-41.3;174.78
Christchurch;NZ;-43.54;172.63
Halifax;CA;44.65;-63.6
Des Moines;US;41.58;-93.62
Ljubljana;SI;46.06;14.51
Canberra;AU;-35.28;149.13
Anchorage;US;61.22;-149.9
Nicosia;CY;35.17;33.37
Bergen;NO;60.39;5.32
Bern;CH;46.92;7.47
Nassau;BS;25.08;-77.35
Valletta;MT;35.9;14.51
Willemstad;CW;12.2;-69.02
Bridgetown;BB;13.1;-59.62
Podgorica;ME;42.47;19.27
Reykjavík;IS;64.15;-21.95
Suva;FJ;-18.13;178.44
Male;MV;4.17;73.5
Luxembourg;LU;49.61;6.13
Hobart;AU;-42.85;147.3
Cheyenne;US;41.14;-104.82
Prague;CZ;50.09;14.42
Ashburn;US;39.04;-77.49
`;
